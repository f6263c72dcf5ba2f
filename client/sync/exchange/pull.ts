import { ClientError } from '../../errors/client-error.ts';
import { createTaskPool } from '../../async/task-pool.ts';
import { hasGoneBack, firstCursor } from './cursor.ts';
import type { LocalObjects } from '../stores/local-objects.ts';
import { rebaseQueue } from '../stores/offline-queue.ts';
import type { ServerState, StoredObject } from '../stores/stored-object.ts';
import type { Page, SyncRequests } from './requests.ts';

const readsAtOnce = 4;

interface PullOptions {
  readonly local: LocalObjects;
  readonly requests: SyncRequests;
}

export interface Pulled {
  /** Number of objects that were new, changed or deleted. */
  readonly received: number;
  /**
   * Number of received objects that the vault has in an older version than this device, or in
   * another state with the same version, because it was restored.
   */
  readonly restored: number;
}

/**
 * Fetches the vault's changes page by page and saves each page with the cursor after it. Fetches
 * all changes again if the vault's cursors show that it was restored. Throws invalid_response if
 * the cursor does not advance after a page with objects, or goes back twice.
 */
export async function pull({ local, requests }: PullOptions): Promise<Pulled> {
  let received = 0;
  let restored = 0;
  let isAgain = false;
  for (;;) {
    const since = local.cursor() ?? firstCursor;
    const page = await requests.list(since);
    if (hasGoneBack(page.nextCursor, since)) {
      if (isAgain) throw new ClientError('invalid_response');
      isAgain = true;
      await local.commit(() => ({ objects: [], cursor: null }));
      continue;
    }
    if (page.objects.length > 0 && page.nextCursor === since) {
      throw new ClientError('invalid_response');
    }
    const states = await readStates({ local, requests }, page);
    received += states.size;
    for (const [objectId, { version }] of states) {
      if (version <= (local.find(objectId)?.server?.version ?? 0)) restored += 1;
    }
    await local.commit(() => ({
      objects: [...states].flatMap(([objectId, server]) => {
        const object = local.find(objectId) ?? { objectId, server: null, queue: [] };
        return isKnown(object, server) ? [] : [rebaseQueue({ ...object, server })];
      }),
      ...(page.nextCursor !== since && { cursor: page.nextCursor }),
    }));
    if (page.objects.length === 0) break;
  }
  // If the vault was restored, it may also have older states of objects before the cursor: all
  // changes are read again next time.
  if (restored > 0 && !isAgain) await local.commit(() => ({ objects: [], cursor: null }));
  return { received, restored };
}

async function readStates(
  { local, requests }: PullOptions,
  { objects }: Page,
): Promise<Map<string, ServerState>> {
  const states = new Map<string, ServerState>();
  const pool = createTaskPool(readsAtOnce);
  for (const { objectId, version, lastModifiedAt, deleted } of objects) {
    const object = local.find(objectId);
    const isDone =
      object === undefined ? deleted === true : isKnown(object, { version, lastModifiedAt });
    if (isDone) continue;
    if (deleted === true) states.set(objectId, { version, data: null, lastModifiedAt });
    else {
      await pool.start(async () => {
        const state = await requests.get(objectId);
        // An object that was deleted after the list was read is on a later page.
        if (state !== undefined) states.set(objectId, state);
      });
    }
  }
  await pool.finish();
  return states;
}

/**
 * Returns whether this state of the vault is already known. A vault that was restored from a backup
 * assigns the same versions again, so the time of the change is compared too.
 */
function isKnown(
  { server }: StoredObject,
  { version, lastModifiedAt }: Omit<ServerState, 'data'>,
): boolean {
  if (server?.version !== version) return false;
  return server.lastModifiedAt === undefined || server.lastModifiedAt === lastModifiedAt;
}
