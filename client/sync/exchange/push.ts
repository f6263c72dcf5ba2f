import { ClientError } from '../../errors/client-error.ts';
import { isPassing } from '../../http/retry.ts';
import { createTaskPool } from '../../async/task-pool.ts';
import { VaultError } from '../../errors/vault-error.ts';
import { settleAnswer } from './answers.ts';
import { stateWrite } from './state-write.ts';
import { isUnbelieved } from '../statements/verify-state.ts';
import type { Exchange } from './exchange.ts';
import { rebaseQueue } from '../stores/offline-queue.ts';
import type { ObjectEncryption } from '../objects/object-encryption.ts';
import type { QueuedWrite } from '../stores/stored-object.ts';
import type { SentWrite } from './requests.ts';

const objectsAtOnce = 4;
/**
 * Maximum number of requests per object and synchronisation. Writes that remain wait for the next
 * synchronisation.
 */
const maxWrites = 20;

/**
 * Sends the queued writes of all objects but those of `refused`, several objects concurrently.
 * Resolves with the errors that each concern one object, such as an error of the application's
 * resolver; the writes of all other objects were sent then. Any other error stops the sending and
 * is thrown once the requests in progress have ended.
 */
export async function pushAll(
  exchange: Exchange,
  refused: ReadonlyMap<string, unknown>,
): Promise<unknown[]> {
  const { local } = exchange;
  const failures: unknown[] = [];

  async function pushApart(objectId: string): Promise<void> {
    try {
      await pushObject(exchange, objectId);
    } catch (error) {
      if (!isOfOne(error)) throw error;
      failures.push(error);
    }
  }

  const hasWrites = (objectId: string) => (local.find(objectId)?.queue.length ?? 0) > 0;
  const pool = createTaskPool(objectsAtOnce);
  try {
    const waiting = local.ids().filter((objectId) => hasWrites(objectId) && !refused.has(objectId));
    for (const objectId of waiting) await pool.start(() => pushApart(objectId));
    await pool.finish();
  } finally {
    await pool.settle();
  }
  return failures;
}

/**
 * Returns whether an error concerns one object only, so that the writes of other objects can still
 * be sent. This is the case for errors of the application, and for errors that a single write may
 * cause: a fault of the vault, or a filter in front of the vault that mistakes the write for an
 * attack.
 */
function isOfOne(error: unknown): boolean {
  if (isUnbelieved(error)) return true;
  if (error instanceof ClientError) return error.code === 'invalid_response';
  if (!(error instanceof VaultError)) return true;
  return error.status === 500 || (error.code.startsWith('http_') && !isPassing(error));
}

/**
 * Sends the writes of an object's queue one after the other, until the queue is empty or a write is
 * refused.
 */
async function pushObject(exchange: Exchange, objectId: string): Promise<void> {
  for (let writes = 0; writes < maxWrites; writes += 1) {
    const write = await fixRequest(exchange, objectId);
    if (write === undefined) return;
    const outcome = await exchange.requests.write(objectId, write);
    await settleAnswer(exchange, { objectId, write, outcome });
  }
}

/**
 * Resolves with the first write of an object's queue and its request, which is saved before it is
 * sent; undefined if there is no write or it was refused. The time of the request is in the vault's
 * clock, not in the future, and later than the time of the object's previous request.
 */
async function fixRequest(exchange: Exchange, objectId: string): Promise<SentWrite | undefined> {
  const { local, clock, encryption } = exchange;
  let fixed: SentWrite | undefined;
  await local.commit(async () => {
    const object = local.find(objectId);
    const [first] = object?.queue ?? [];
    const isRefused = first?.refusal !== undefined;
    if (object === undefined || first === undefined || isRefused) return { objects: [] };
    if (first.request !== undefined) {
      fixed = { ...first, request: first.request };
      return { objects: [] };
    }
    const rebased = rebaseQueue(object);
    const [write = first, ...rest] = rebased.queue;
    const changedAt = Math.max(
      Math.min(clock.at(write.changedAt), clock.now()),
      (object.lastChangedAt ?? 0) + 1,
    );
    const renewed = await renew(encryption, objectId, write);
    const statement = await stateWrite(exchange, rebased, renewed);
    const request = { id: crypto.randomUUID(), changedAt, statement };
    fixed = { ...renewed, request };
    const lastCount = statement?.count ?? object.lastCount;
    const next = { ...rebased, queue: [fixed, ...rest], lastChangedAt: changedAt, lastCount };
    return { objects: [next] };
  });
  return fixed;
}

/** Encrypts a write anew that was queued before a rekey. */
async function renew(
  encryption: ObjectEncryption,
  objectId: string,
  write: QueuedWrite,
): Promise<QueuedWrite> {
  switch (write.kind) {
    case 'create':
      return { ...write, data: await encryption.renew(objectId, write.data) };
    case 'change':
      return { ...write, delta: await encryption.renew(objectId, write.delta) };
    case 'remove':
      return write;
    default:
      return write satisfies never;
  }
}
