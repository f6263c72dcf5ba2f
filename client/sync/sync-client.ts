import type { Http } from '../http/http.ts';
import { queueConfirmations } from './exchange/confirmations.ts';
import type { Counts, Exchange } from './exchange/exchange.ts';
import type { Memory } from '../memory/memory.ts';
import { loadLocalObjects } from './stores/local-objects.ts';
import { parseObjectData, parseObjectType } from './objects/object-data.ts';
import { createLeafCipher } from './objects/leaf-encryption.ts';
import { createObjectEncryption, type OpenObject } from './objects/object-encryption.ts';
import type { JsonObject } from './objects/json.ts';
import { queueChange, queueRemoval } from './stores/offline-queue.ts';
import { pull } from './exchange/pull.ts';
import { pushAll } from './exchange/push.ts';
import { defaultResolver } from './objects/resolver.ts';
import { createServerClock } from './exchange/server-clock.ts';
import { createStatementEncryption } from './statements/statement-encryption.ts';
import { viewOf, type QueuedWrite, type StoredObject } from './stores/stored-object.ts';
import { createSyncRequests } from './exchange/requests.ts';
import { statesOf } from './statements/seen-states.ts';
import { createVerify, type Verify } from './statements/verify-state.ts';
import type { Sync, SyncOptions, SyncReport } from './sync.ts';

/**
 * Loads the objects of a store for synchronisation. No other client may use the store at the same
 * time. Throws what `SyncStore.load` throws.
 */
export async function openSync(
  options: SyncOptions & {
    readonly http: Http;
    readonly memory: Pick<Memory, 'generationOf' | 'lookAtObjects'>;
  },
): Promise<Sync> {
  const { http, memory, schemaVersion, publicFields = {} } = options;
  const deviceId = options.deviceId.toLowerCase();
  const { now = () => new Date() } = options;
  const clock = createServerClock(now);
  const requests = createSyncRequests({ http, deviceId, schemaVersion, clock });
  const cipher = createLeafCipher(options);
  const encryption = createObjectEncryption(cipher, publicFields);
  const statements = createStatementEncryption(cipher);
  const local = await loadLocalObjects(options.store);
  const exchange = {
    local,
    requests,
    encryption,
    statements,
    deviceId,
    clock,
    resolve: options.resolve ?? defaultResolver,
    resolveDeletion: options.resolveDeletion ?? (() => 'keep' as const),
  };

  function findView(
    objectId: string,
  ): { readonly object: StoredObject; readonly sealed: JsonObject } | undefined {
    const object = local.find(objectId);
    const sealed = object === undefined ? undefined : viewOf(object);
    return object === undefined || sealed === undefined ? undefined : { object, sealed };
  }

  function loadView(objectId: string): {
    readonly object: StoredObject;
    readonly sealed: JsonObject;
  } {
    const found = findView(objectId);
    if (found === undefined) throw new RangeError('No such object, or it is deleted.');
    return found;
  }

  const revise = (objectId: string, queueOf: (object: StoredObject) => QueuedWrite[]) =>
    local.commit(() => {
      const object = local.find(objectId);
      return { objects: object === undefined ? [] : [{ ...object, queue: queueOf(object) }] };
    });

  async function run(acceptRestored: boolean): Promise<SyncReport> {
    await memory.generationOf(options.masterKey);
    const look = await memory.lookAtObjects();
    const counts: Counts = { sent: 0, conflicts: 0, restored: 0 };
    const verify = createVerify({ ...exchange, look, acceptRestored });
    const round: Exchange = { ...exchange, verify, acceptRestored, counts };
    const changed = new Set<string>();
    const unsubscribe = local.subscribe((objectIds) => {
      for (const objectId of objectIds) changed.add(objectId);
    });
    try {
      const { received, refused } = await pull(round);
      if (!isConfirmed) await queueConfirmations(round, { look, refused, now });
      const failures = [...refused.values(), ...(await pushAll(round, refused))];
      isConfirmed = true;
      if (failures.length > 0) throw failures[0];
      return { received, ...counts };
    } finally {
      unsubscribe();
      look.end();
      await look.saw(statesOf(local, changed));
    }
  }

  /** Whether what an earlier master key made was confirmed since the objects were opened. */
  let isConfirmed = (options.earlierKeys ?? []).length === 0;
  let running: Promise<unknown> = Promise.resolve();
  let waiting: { acceptRestored: boolean; readonly report: Promise<SyncReport> } | undefined;

  /** Begins the synchronisation that waits for the one before it. */
  function begin(): Promise<SyncReport> {
    const acceptRestored = waiting?.acceptRestored ?? false;
    waiting = undefined;
    const report = run(acceptRestored);
    running = report.catch(() => {});
    return report;
  }

  return {
    list: () => local.ids().filter((objectId) => findView(objectId) !== undefined),

    async get(objectId) {
      const found = findView(objectId);
      if (found === undefined) return undefined;
      const { object, sealed } = found;
      const { objectType, data } = await encryption.open(objectId, sealed);
      const isPending = object.queue.length > 0;
      return { objectId, objectType, data, version: object.server?.version, isPending };
    },

    async create({ data, objectType: given }) {
      const objectType = parseObjectType(given);
      const objectId = crypto.randomUUID();
      const sealed = await encryption.seal(objectId, { objectType, data: parseObjectData(data) });
      const type = objectType === undefined ? {} : { objectType };
      const write = { kind: 'create', data: sealed, ...type, changedAt: now().getTime() } as const;
      await local.commit(() => ({ objects: [{ objectId, server: null, queue: [write] }] }));
      return objectId;
    },

    change: (objectId, edit) =>
      local.commit(async () => {
        const { object, sealed } = loadView(objectId);
        const view = await encryption.open(objectId, sealed);
        // `edit` gets a copy, because the view must stay unchanged for the comparison with the
        // result.
        const data = parseObjectData(edit(structuredClone(view.data)));
        const known = [view, ...(await openBase(object))];
        const after = await encryption.seal(objectId, { ...view, data }, known);
        return { objects: [queueChange(object, after, now().getTime())] };
      }),

    remove: (objectId) =>
      local.commit(() => ({
        objects: [queueRemoval(loadView(objectId).object, now().getTime())],
      })),

    sync({ acceptRestored = false } = {}) {
      const next = waiting ?? { acceptRestored, report: running.then(() => begin()) };
      next.acceptRestored ||= acceptRestored;
      waiting = next;
      return next.report;
    },

    pending: () =>
      local.ids().flatMap((objectId) =>
        (local.find(objectId)?.queue ?? []).map(({ kind, changedAt, refusal }) => ({
          objectId,
          kind,
          changedAt: new Date(changedAt),
          refusal,
        })),
      ),

    retry: (objectId) =>
      revise(objectId, ({ queue }) => queue.map((write) => ({ ...write, refusal: undefined }))),

    discard: (objectId) =>
      revise(objectId, ({ queue }) => queue.filter((write) => write.request !== undefined)),

    subscribe: (listener) => local.subscribe(listener),
    history: (objectId) => requests.history(objectId),

    async export(objectId) {
      const look = await memory.lookAtObjects();
      const verify = createVerify({ ...exchange, look, acceptRestored: false });
      const { record, state } = await readExport(objectId, verify).finally(() => look.end());
      const { objectType, data } = await encryption.open(objectId, state.data ?? {});
      return {
        objectId,
        objectType,
        data,
        version: record.canonical_version,
        exportedAt: record.exported_at,
        history: record.history.map(({ version, timestamp, device_id }) => ({
          version,
          timestamp,
          deviceId: device_id,
        })),
      };
    },
  };

  async function readExport(objectId: string, verify: Verify) {
    const record = await requests.export(objectId);
    const shown = { version: record.canonical_version, data: record.data };
    return { record, ...(await verify(objectId, shown)) };
  }

  /**
   * Decrypts the object as it was before the last write, so that a leaf that is changed back keeps
   * its ciphertext and is not sent.
   */
  async function openBase({ objectId, queue }: StoredObject): Promise<OpenObject[]> {
    const last = queue.at(-1);
    if (last === undefined || last.kind === 'create') return [];
    return [await encryption.open(objectId, last.before)];
  }
}
