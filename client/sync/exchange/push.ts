import { ClientError } from '../../errors/client-error.ts';
import { isPassing } from '../../http/retry.ts';
import { createTaskPool } from '../../http/task-pool.ts';
import { VaultError } from '../../errors/vault-error.ts';
import { settleAnswer } from './answers.ts';
import type { Exchange } from './exchange.ts';
import { rebaseQueue } from '../stores/offline-queue.ts';
import type { SentWrite } from './requests.ts';

const objectsAtOnce = 4;
/**
 * Limits the writes per object; those that are still not settled wait for the next synchronisation.
 */
const maxWrites = 20;

/**
 * Sends the writes of all queues, several objects at a time. Throws errors that concern all objects
 * at once; errors of one object, such as those of the application's resolver, after all others are
 * sent.
 */
export async function pushAll(exchange: Exchange): Promise<void> {
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

  const pool = createTaskPool(objectsAtOnce);
  try {
    const waiting = local.ids().filter((objectId) => (local.find(objectId)?.queue.length ?? 0) > 0);
    for (const objectId of waiting) await pool.start(() => pushApart(objectId));
    await pool.finish();
  } finally {
    await pool.settle();
  }
  if (failures.length > 0) throw failures[0];
}

/**
 * Returns whether an error concerns one object only, so that the others can still be sent. That
 * holds for errors of the application, and for those that the one write may cause: a fault of the
 * vault, or a filter before the vault that takes the write for an attack.
 */
function isOfOne(error: unknown): boolean {
  if (error instanceof ClientError) return error.code === 'invalid_response';
  if (!(error instanceof VaultError)) return true;
  return error.status === 500 || (error.code.startsWith('http_') && !isPassing(error));
}

/** Sends the writes of an object's queue one after the other, until one is refused. */
async function pushObject(exchange: Exchange, objectId: string): Promise<void> {
  for (let writes = 0; writes < maxWrites; writes += 1) {
    const write = await fixRequest(exchange, objectId);
    if (write === undefined) return;
    const outcome = await exchange.requests.write(objectId, write);
    await settleAnswer(exchange, { objectId, write, outcome });
  }
}

/**
 * Returns the first write of the queue with its request, which is saved before it is sent. The time
 * of the request is by the vault's clock: not ahead of it, and later than that of the write before.
 */
async function fixRequest(
  { local, clock }: Exchange,
  objectId: string,
): Promise<SentWrite | undefined> {
  let fixed: SentWrite | undefined;
  await local.commit(() => {
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
    fixed = { ...write, request: { id: crypto.randomUUID(), changedAt } };
    return { objects: [{ ...rebased, queue: [fixed, ...rest], lastChangedAt: changedAt }] };
  });
  return fixed;
}
