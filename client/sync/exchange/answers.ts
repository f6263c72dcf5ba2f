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

/** Takes over what the vault answered to the first write of the queue. */
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
  // There is nothing that a new object could conflict with.
  if (write.kind === 'create') throw new ClientError('invalid_response');
  if (conflictType === 'DELETED_ON_SERVER') {
    return settleDeletion(exchange, objectId, serverVersion);
  }
  const isAhead = conflictType === 'VERSION_AHEAD';
  const answered = isAhead
    ? await readAgain(exchange, objectId, serverVersion)
    : newest(exchange, objectId, { version: serverVersion, data: serverData });
  const { version, data } = answered;
  // Sent once more, the write is answered that the object is deleted.
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

/** In place of the first write come others, over what the vault is known to have by now. */
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
    // A request that is sent again at an earlier time never was of a later one.
    const lastChangedAt = instead[0]?.request?.changedAt ?? object.lastChangedAt;
    const next = { ...object, queue, lastChangedAt };
    if (!isRestored || server === undefined) {
      const known = server ? withServer(next, server) : next;
      return { objects: [joinRefused(rebaseQueue(known))] };
    }
    counts.restored += 1;
    return { objects: [joinRefused(rebaseQueue({ ...next, server }))], cursor: null };
  });
}

/** What became of a request whose answer the vault no longer keeps; undefined if it did nothing. */
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

/** The vault has gone back to an older state: its word counts, and all is read again. */
async function readAgain(
  { requests }: Exchange,
  objectId: string,
  version: number,
): Promise<ServerState> {
  return (await requests.get(objectId)) ?? { version, data: null };
}

/** The answer of a conflict may be one that was kept. */
function newest({ local }: Exchange, objectId: string, answered: ServerState): ServerState {
  const object = local.find(objectId) ?? { objectId, server: null, queue: [] };
  return withServer(object, answered).server ?? answered;
}

/** The same request at an earlier time, where the vault said that its own is ahead of the vault's. */
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
