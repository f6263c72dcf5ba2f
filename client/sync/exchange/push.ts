import { ClientError } from '../../errors/client-error.ts';
import { isPassing } from '../../http/retry.ts';
import { createTaskPool } from '../../http/task-pool.ts';
import { VaultError } from '../../errors/vault-error.ts';
import { settleAnswer } from './answers.ts';
import type { Exchange } from './exchange.ts';
import { rebaseQueue } from '../stores/offline-queue.ts';
import type { SentWrite } from './requests.ts';

const objectsAtOnce = 4;
/** What cannot be settled after so many answers is left to the next synchronisation. */
const maxWrites = 20;

/**
 * Sends what the queues hold, several objects at once. Throws what `SyncRequests` throws at once; what
 * keeps back one object, as what the application throws, once all others are sent.
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
    const waiting = local.ids().filter((objectId) => local.find(objectId)?.queue.length);
    for (const objectId of waiting) await pool.start(() => pushApart(objectId));
    await pool.finish();
  } finally {
    await pool.settle();
  }
  if (failures.length > 0) throw failures[0];
}

/**
 * Whether other objects may be sent all the same: of what the application throws, and of what may lie in
 * the one write, as a fault of the vault at it, or a filter before the vault that takes it for an attack.
 */
function isOfOne(error: unknown): boolean {
  if (error instanceof ClientError) return error.code === 'invalid_response';
  if (!(error instanceof VaultError)) return true;
  return error.status === 500 || (error.code.startsWith('http_') && !isPassing(error));
}

/** Sends what an object's queue holds, one write after the other, until one is refused. */
async function pushObject(exchange: Exchange, objectId: string): Promise<void> {
  for (let writes = 0; writes < maxWrites; writes += 1) {
    const write = await fixRequest(exchange, objectId);
    if (write === undefined) return;
    const outcome = await exchange.requests.write(objectId, write);
    await settleAnswer(exchange, { objectId, write, outcome });
  }
}

/**
 * The first write of the queue, which is saved with its request before it is sent. Its time is by the
 * vault's clock: not ahead of it, and later than the write before.
 */
async function fixRequest(
  { local, clock }: Exchange,
  objectId: string,
): Promise<SentWrite | undefined> {
  let fixed: SentWrite | undefined;
  await local.commit(() => {
    const object = local.find(objectId);
    const [first] = object?.queue ?? [];
    if (object === undefined || first === undefined || first.refusal) return { objects: [] };
    if (first.request) {
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
