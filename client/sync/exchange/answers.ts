import { ClientError } from '../../errors/client-error.ts';
import { hasCode, type VaultError } from '../../errors/vault-error.ts';
import { settleConflict } from './conflict.ts';
import { settleDeletion } from './deletion.ts';
import type { Exchange } from './exchange.ts';
import { joinRefused, rebaseQueue } from '../stores/offline-queue.ts';
import type { ServerClock } from './server-clock.ts';
import { asUnsent, type QueuedWrite } from '../stores/stored-object.ts';
import type { Conflicted, Outcome, SentWrite } from './requests.ts';
import type { ShownObject, VerifiedState } from '../statements/verify-state.ts';

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
      return settleApplied(exchange, objectId, outcome);
    case 'conflicted':
      exchange.counts.conflicts += 1;
      return settleConflicted(exchange, objectId, write, outcome);
    case 'refused':
      return settleRefused(exchange, objectId, write, outcome.error);
    default:
      return outcome satisfies never;
  }
}

async function settleApplied(
  exchange: Exchange,
  objectId: string,
  { version, data, lastModifiedAt }: Extract<Outcome, { kind: 'applied' }>,
): Promise<void> {
  const verified = await exchange.verify(
    objectId,
    { version, data, lastModifiedAt },
    { isApplied: true },
  );
  exchange.counts.sent += 1;
  return replaceFirst(exchange, objectId, [], verified);
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
    const { state } = await exchange.verify(objectId, { version: serverVersion, data: null });
    return settleDeletion(exchange, objectId, state);
  }
  const isAhead = conflictType === 'VERSION_AHEAD';
  const verified = isAhead
    ? await exchange.verify(objectId, await readPresent(exchange, objectId, serverVersion))
    : await verifyNewest(exchange, objectId, { version: serverVersion, data: serverData });
  const { version, data } = verified.state;
  // `data` is null because the object is deleted in the vault: the write is sent once more, and the
  // vault then responds with a deletion conflict.
  if (data === null) return replaceFirst(exchange, objectId, [asUnsent(write)], verified);
  const conflict = { objectId, write, theirs: { version, data }, fields: isAhead ? [''] : fields };
  try {
    const instead = await settleConflict(exchange, conflict);
    return await replaceFirst(exchange, objectId, instead, verified);
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== 'invalid_leaf') throw error;
    return replaceFirst(exchange, objectId, [asUnsent(write, toRefusal(error))], verified);
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
    const shown = await findApplied(exchange, objectId, write.request.id);
    if (shown !== undefined) {
      const applied = await exchange.verify(objectId, shown, { isApplied: true });
      exchange.counts.sent += 1;
      return replaceFirst(exchange, objectId, [], applied);
    }
    if (code === 'sync_request_reused') return replaceFirst(exchange, objectId, [asUnsent(write)]);
  }
  const mended = withEarlierTime(exchange.clock, write, error);
  return replaceFirst(exchange, objectId, [mended ?? asUnsent(write, toRefusal(error))]);
}

/**
 * Replaces the first write of an object's queue by the writes in `instead`, and stores the state
 * that the vault showed, if one is given. If the user accepted an older state, the other writes are
 * based on it anew.
 */
function replaceFirst(
  { local, counts }: Exchange,
  objectId: string,
  instead: readonly QueuedWrite[],
  verified?: VerifiedState,
): Promise<void> {
  return local.commit(() => {
    const object = local.find(objectId);
    if (object === undefined) return { objects: [] };
    const queue = [...instead, ...object.queue.slice(1)];
    // A request that is retried with an earlier time was never accepted with the later time, so the
    // earlier time counts.
    const lastChangedAt = instead[0]?.request?.changedAt ?? object.lastChangedAt;
    if (verified?.isRestored === true) counts.restored += 1;
    const server = verified?.state ?? object.server;
    return { objects: [joinRefused(rebaseQueue({ ...object, queue, lastChangedAt, server }))] };
  });
}

/**
 * Searches an object's history for a request whose response the vault no longer keeps. Resolves
 * with the object's present state if the request was applied, otherwise with undefined.
 */
async function findApplied(
  exchange: Exchange,
  objectId: string,
  requestId: string,
): Promise<ShownObject | undefined> {
  try {
    for await (const { syncRequestId, status, version } of exchange.requests.history(objectId)) {
      if (syncRequestId !== requestId || status !== 'APPLIED') continue;
      return await readPresent(exchange, objectId, version);
    }
  } catch (error) {
    if (!hasCode(error, 'not_found')) throw error;
  }
  return undefined;
}

/** Reads an object from the vault. If it is deleted, its version is taken to be `version`. */
async function readPresent(
  { requests }: Exchange,
  objectId: string,
  version: number,
): Promise<ShownObject> {
  return (await requests.get(objectId)) ?? { version, data: null };
}

/**
 * Verifies the state in a conflict response, unless a newer one is known: the vault may have
 * repeated an earlier response.
 */
async function verifyNewest(
  { local, verify }: Exchange,
  objectId: string,
  answered: ShownObject,
): Promise<VerifiedState> {
  const { server = null } = local.find(objectId) ?? {};
  const isOld = server !== null && server.version > answered.version;
  return isOld ? { state: server, isRestored: false } : verify(objectId, answered);
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
