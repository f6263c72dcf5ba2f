import type { DBSchema } from 'idb';
import type { Transaction } from './database-format.ts';

/**
 * Runs `act` and resolves with its result once the transaction is committed. Throws what `act`
 * throws, or the reason why the transaction was aborted.
 */
export async function runTransaction<T, S extends DBSchema>(
  transaction: Transaction<S>,
  act: (transaction: Transaction<S>) => Promise<T>,
): Promise<T> {
  const committed = isCommitted(transaction);
  let result: T;
  try {
    result = await act(transaction);
  } catch (error) {
    abort(transaction);
    await committed;
    throw transaction.error ?? error;
  }
  if (await committed) return result;
  throw transaction.error ?? new DOMException('The transaction was aborted.', 'AbortError');
}

/**
 * Resolves with whether the transaction was committed. The errors of requests and of idb's `done`
 * may lack the reason of an abort, so callers read `transaction.error` after the transaction has
 * ended.
 */
function isCommitted<S extends DBSchema>(transaction: Transaction<S>): Promise<boolean> {
  transaction.done.catch(() => {});
  return new Promise((resolve) => {
    transaction.addEventListener('complete', () => resolve(true));
    transaction.addEventListener('abort', () => resolve(false));
  });
}

function abort<S extends DBSchema>(transaction: Transaction<S>): void {
  try {
    transaction.abort();
  } catch {
    // The transaction has already ended, so there is nothing to abort.
  }
}
