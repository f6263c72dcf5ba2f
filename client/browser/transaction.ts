import type { SyncTransaction } from './sync-schema.ts';

/**
 * Runs `act` and resolves once all that it did is committed. Throws what `act` throws, or the
 * reason why the transaction was aborted.
 */
export async function runTransaction<T>(
  transaction: SyncTransaction,
  act: (transaction: SyncTransaction) => Promise<T>,
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
 * Resolves with whether the transaction was committed. Neither a request nor idb's `done` may know
 * why a transaction was aborted, so the error is read from the transaction when it has ended.
 */
function isCommitted(transaction: SyncTransaction): Promise<boolean> {
  transaction.done.catch(() => {});
  return new Promise((resolve) => {
    transaction.addEventListener('complete', () => resolve(true));
    transaction.addEventListener('abort', () => resolve(false));
  });
}

function abort(transaction: SyncTransaction): void {
  try {
    transaction.abort();
  } catch {
    // The transaction has ended already.
  }
}
