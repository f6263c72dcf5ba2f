import { ClientError } from '../../errors/client-error.ts';
import { hasCode, type VaultError } from '../../errors/vault-error.ts';
import { settleConflict } from './conflict.ts';
import { settleDeletion } from './deletion.ts';
import type { Exchange } from './exchange.ts';
import { joinRefused, rebaseQueue } from '../stores/offline-queue.ts';
import type { ServerClock } from './server-clock.ts';
import {
  asUnsent,
  withServer,
  type QueuedWrite,
  type ServerState,
} from '../stores/stored-object.ts';
import type { Conflicted, Outcome, SentWrite } from './requests.ts';

export interface Answered {
  readonly objectId: string;
  readonly write: SentWrite;
  readonly outcome: Outcome;
}

/** Updates an object's record by the vault's response to the first write of its queue. */
export async function settleAnswer(
  exchange: Exchange,
  { objectId, write, outcome }: Answered,
): Promise<void> {
  switch (outcome.kind) {
    case 'applied':
      exchange.counts.sent += 1;
      return replaceFirst(exchange, objectId, [], outcome);
    case 'conflicted':
      exchange.counts.conflicts += 1;
      return settleConflicted(exchange, objectId, write, outcome);
    case 'refused':
      return settleRefused(exchange, objectId, write, outcome.error);
    default:
      return outcome satisfies never;
  }
}

async function settleConflicted(
  exchange: Exchange,
  objectId: string,
  write: SentWrite,
  { conflictType, serverVersion, serverData, fields }: Conflicted,
): Promise<void> {
  // A created object has a new id, so a conflict with it is not possible.
  if (write.kind === 'create') throw new ClientError('invalid_response');
  if (conflictType === 'DELETED_ON_SERVER') {
    return settleDeletion(exchange, objectId, serverVersion);
  }
  const isAhead = conflictType === 'VERSION_AHEAD';
  const answered = isAhead
    ? await readAgain(exchange, objectId, serverVersion)
    : newest(exchange, objectId, { version: serverVersion, data: serverData });
  const { version, data } = answered;
  // `data` is null because the object is deleted in the vault: the write is sent once more, and the
  // vault then responds with a deletion conflict.
  if (data === null) return replaceFirst(exchange, objectId, [asUnsent(write)], answered, isAhead);
  const conflict = { objectId, write, theirs: { version, data }, fields: isAhead ? [''] : fields };
  try {
    const instead = await settleConflict(exchange, conflict);
    return await replaceFirst(exchange, objectId, instead, answered, isAhead);
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== 'invalid_leaf') throw error;
    return replaceFirst(exchange, objectId, [asUnsent(write, toRefusal(error))], answered, isAhead);
  }
}

async function settleRefused(
  exchange: Exchange,
  objectId: string,
  write: SentWrite,
  error: VaultError,
): Promise<void> {
  const { code } = error;
  if (code === 'object_exists' || code === 'sync_request_reused') {
    const applied = await findApplied(exchange, objectId, write.request.id);
    if (applied !== undefined) {
      exchange.counts.sent += 1;
      return replaceFirst(exchange, objectId, [], applied);
    }
    if (code === 'sync_request_reused') return replaceFirst(exchange, objectId, [asUnsent(write)]);
  }
  const mended = withEarlierTime(exchange.clock, write, error);
  return replaceFirst(exchange, objectId, [mended ?? asUnsent(write, toRefusal(error))]);
}

/**
 * Replaces the first write of an object's queue by the writes in `instead`, and stores `server` as
 * the vault's state unless a newer state is known. With `isRestored`, the vault was restored from a
 * backup: stores `server` even if it is older, and discards the cursor, so that all changes are
 * read again.
 */
function replaceFirst(
  { local, counts }: Exchange,
  objectId: string,
  instead: readonly QueuedWrite[],
  server?: ServerState,
  isRestored = false,
): Promise<void> {
  return local.commit(() => {
    const object = local.find(objectId);
    if (object === undefined) return { objects: [] };
    const queue = [...instead, ...object.queue.slice(1)];
    // A request that is retried with an earlier time was never accepted with the later time, so the
    // earlier time counts.
    const lastChangedAt = instead[0]?.request?.changedAt ?? object.lastChangedAt;
    const next = { ...object, queue, lastChangedAt };
    if (!isRestored || server === undefined) {
      const known = server === undefined ? next : withServer(next, server);
      return { objects: [joinRefused(rebaseQueue(known))] };
    }
    counts.restored += 1;
    return { objects: [joinRefused(rebaseQueue({ ...next, server }))], cursor: null };
  });
}

/**
 * Searches an object's history for a request whose response the vault no longer keeps. Resolves
 * with the object's present state if the request was applied, otherwise with undefined.
 */
async function findApplied(
  { requests }: Exchange,
  objectId: string,
  requestId: string,
): Promise<ServerState | undefined> {
  try {
    for await (const { syncRequestId, status, version } of requests.history(objectId)) {
      if (syncRequestId !== requestId || status !== 'APPLIED') continue;
      return (await requests.get(objectId)) ?? { version, data: null };
    }
  } catch (error) {
    if (!hasCode(error, 'not_found')) throw error;
  }
  return undefined;
}

/**
 * Reads an object from a vault that was restored from a backup. The vault's state replaces the
 * newer state on this device.
 */
async function readAgain(
  { requests }: Exchange,
  objectId: string,
  version: number,
): Promise<ServerState> {
  return (await requests.get(objectId)) ?? { version, data: null };
}

/**
 * Returns the newer of the known state and the state in a conflict response, because the vault may
 * have repeated an earlier response.
 */
function newest({ local }: Exchange, objectId: string, answered: ServerState): ServerState {
  const object = local.find(objectId) ?? { objectId, server: null, queue: [] };
  return withServer(object, answered).server ?? answered;
}

/**
 * Returns the write with an earlier request time if the vault refused the time as ahead of its
 * clock. Returns undefined for other errors, or if the time would not become earlier.
 */
function withEarlierTime(
  clock: ServerClock,
  write: SentWrite,
  { details, body }: VaultError,
): QueuedWrite | undefined {
  if (!details.some(({ path }) => path === 'changedAt')) return undefined;
  clock.learn(String(body['timestamp']));
  const changedAt = Math.min(clock.at(write.changedAt), clock.now());
  if (changedAt >= write.request.changedAt) return undefined;
  return { ...write, request: { ...write.request, changedAt } };
}

function toRefusal({ code, message }: ClientError | VaultError) {
  return { code, message };
}
