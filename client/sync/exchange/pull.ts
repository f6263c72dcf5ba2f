import { ClientError } from '../../errors/client-error.ts';
import { createTaskPool } from '../../async/task-pool.ts';
import { RolledBackError } from '../../memory/values/rolled-back-error.ts';
import { hasGoneBack, firstCursor } from './cursor.ts';
import type { Exchange } from './exchange.ts';
import { rebaseQueue } from '../stores/offline-queue.ts';
import { asUnsent, type ServerState, type StoredObject } from '../stores/stored-object.ts';
import type { Page } from './requests.ts';
import { isUnbelieved, type VerifiedState } from '../statements/verify-state.ts';

const readsAtOnce = 4;

type PullOptions = Pick<Exchange, 'local' | 'requests' | 'verify' | 'acceptRestored' | 'counts'>;

export interface Pulled {
  /** Number of objects that were new, changed or deleted. */
  readonly received: number;
  /** The errors of the objects that are not believed, by their ids. */
  readonly refused: ReadonlyMap<string, unknown>;
}

/**
 * Fetches the vault's changes page by page and saves each page with the cursor after it. The cursor
 * stays before the first object that is not believed, which is then read again the next time. If
 * the user accepts older states, all changes are read again. Throws RolledBackError if a cursor
 * goes back, and invalid_response if it does not advance after a page with objects.
 */
export async function pull(options: PullOptions): Promise<Pulled> {
  const { local, requests, acceptRestored, counts } = options;
  let received = 0;
  const refused = new Map<string, unknown>();
  let since = acceptRestored ? firstCursor : (local.cursor() ?? firstCursor);
  for (;;) {
    const page = await requests.list(since);
    if (hasGoneBack(page.nextCursor, since)) throw cursorRolledBack(since, page.nextCursor);
    if (page.objects.length > 0 && page.nextCursor === since) {
      throw new ClientError('invalid_response');
    }
    const states = await readStates(options, page, refused);
    received += states.size;
    counts.restored += [...states.values()].filter(({ isRestored }) => isRestored).length;
    const cursor = refused.size === 0 && page.nextCursor !== local.cursor();
    await local.commit(() => ({
      objects: [...states].map(([objectId, verified]) => {
        const object = local.find(objectId) ?? { objectId, server: null, queue: [] };
        return rebaseQueue(withState(object, verified));
      }),
      ...(cursor && { cursor: page.nextCursor }),
    }));
    since = page.nextCursor;
    if (page.objects.length === 0) return { received, refused };
  }
}

async function readStates(
  { local, requests, verify }: PullOptions,
  { objects }: Page,
  refused: Map<string, unknown>,
): Promise<Map<string, VerifiedState>> {
  const states = new Map<string, VerifiedState>();
  const pool = createTaskPool(readsAtOnce);

  async function read({ objectId, version, lastModifiedAt, deleted }: Page['objects'][number]) {
    const tombstone = { version, data: null, lastModifiedAt };
    const shown = deleted === true ? tombstone : await requests.get(objectId);
    // An object that was deleted after the list was read is on a later page.
    if (shown === undefined) return;
    try {
      states.set(objectId, await verify(objectId, shown));
    } catch (error) {
      if (!isUnbelieved(error)) throw error;
      refused.set(objectId, error);
    }
  }

  for (const item of objects) {
    const object = local.find(item.objectId);
    const isDone = object === undefined ? item.deleted === true : isKnown(object, item);
    if (!isDone) await pool.start(() => read(item));
  }
  await pool.finish();
  return states;
}

/**
 * Returns the object with a state that the vault showed. If the user accepted an older one, what
 * was sent before may be lost, and is sent anew.
 */
function withState(object: StoredObject, { state, isRestored }: VerifiedState): StoredObject {
  const queue = isRestored
    ? object.queue.map((write) => asUnsent(write, write.refusal))
    : object.queue;
  return { ...object, server: state, queue };
}

/**
 * Returns whether this state of the vault is already known. A vault that was restored from a backup
 * assigns the same versions again, so the time of the change is compared too.
 */
function isKnown(
  { server }: StoredObject,
  { version, lastModifiedAt }: Omit<ServerState, 'data' | 'statements'>,
): boolean {
  if (server?.version !== version) return false;
  return server.lastModifiedAt === undefined || server.lastModifiedAt === lastModifiedAt;
}

function cursorRolledBack(known: string, shown: string): RolledBackError {
  const [remembered, now] = [`changes up to ${known}`, `changes up to ${shown}`];
  return new RolledBackError({ subject: 'object', remembered, shown: now });
}
