import type { Http } from '../http/http.ts';
import type { Counts } from './exchange/exchange.ts';
import { loadLocalObjects } from './stores/local-objects.ts';
import { parseObjectData, parseObjectType } from './objects/object-data.ts';
import { createObjectEncryption, type OpenObject } from './objects/object-encryption.ts';
import type { JsonObject } from './objects/json.ts';
import { queueChange, queueRemoval } from './stores/offline-queue.ts';
import { pull } from './exchange/pull.ts';
import { pushAll } from './exchange/push.ts';
import { defaultResolver } from './objects/resolver.ts';
import { createServerClock } from './exchange/server-clock.ts';
import { viewOf, type QueuedWrite, type StoredObject } from './stores/stored-object.ts';
import { createSyncRequests } from './exchange/requests.ts';
import type { Sync, SyncOptions, SyncReport } from './sync.ts';

/** Reads the store, which no other client may use meanwhile. */
export async function openSync(options: SyncOptions & { readonly http: Http }): Promise<Sync> {
  const { http, deviceId, schemaVersion, publicFields = {} } = options;
  const { now = () => new Date() } = options;
  const clock = createServerClock(now);
  const requests = createSyncRequests({ http, deviceId, schemaVersion, clock });
  const encryption = createObjectEncryption({ ...options, publicFields });
  const local = await loadLocalObjects(options.store);
  const exchange = {
    local,
    requests,
    encryption,
    clock,
    resolve: options.resolve ?? defaultResolver,
    resolveDeletion: options.resolveDeletion ?? (() => 'keep' as const),
  };

  function load(objectId: string): { object: StoredObject; sealed: JsonObject } {
    const object = local.find(objectId);
    const sealed = object && viewOf(object);
    if (object === undefined || sealed === undefined) throw new RangeError('no such object');
    return { object, sealed };
  }

  const revise = (objectId: string, queueOf: (object: StoredObject) => QueuedWrite[]) =>
    local.commit(() => {
      const object = local.find(objectId);
      return { objects: object ? [{ ...object, queue: queueOf(object) }] : [] };
    });

  async function run(): Promise<SyncReport> {
    const { received, restored } = await pull({ local, requests });
    const counts: Counts = { sent: 0, conflicts: 0, restored };
    await pushAll({ ...exchange, counts });
    return { received, ...counts };
  }

  let running: Promise<unknown> = Promise.resolve();
  let waiting: Promise<SyncReport> | undefined;

  return {
    list: () => local.ids().filter((objectId) => isThere(local.find(objectId))),

    async get(objectId) {
      const object = local.find(objectId);
      const sealed = object && viewOf(object);
      if (object === undefined || sealed === undefined) return undefined;
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
        const { object, sealed } = load(objectId);
        const view = await encryption.open(objectId, sealed);
        // What the edit does to its copy must not make the view look like what becomes of it.
        const data = parseObjectData(edit(structuredClone(view.data)));
        const known = [view, ...(await openBase(object))];
        const after = await encryption.seal(objectId, { ...view, data }, known);
        return { objects: [queueChange(object, after, now().getTime())] };
      }),

    remove: (objectId) =>
      local.commit(() => ({
        objects: [queueRemoval(load(objectId).object, now().getTime())],
      })),

    sync() {
      waiting ??= running.then(() => {
        waiting = undefined;
        const report = run();
        running = report.catch(() => {});
        return report;
      });
      return waiting;
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
      const record = await requests.export(objectId);
      const { objectType, data } = await encryption.open(objectId, record.data);
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

  /** So that a leaf that is changed back has the ciphertext that it had, and is not sent. */
  async function openBase({ objectId, queue }: StoredObject): Promise<OpenObject[]> {
    const last = queue.at(-1);
    if (last === undefined || last.kind === 'create') return [];
    return [await encryption.open(objectId, last.before)];
  }
}

function isThere(object: StoredObject | undefined): boolean {
  return object !== undefined && viewOf(object) !== undefined;
}
