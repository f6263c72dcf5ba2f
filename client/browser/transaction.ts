import type { SyncTransaction } from './sync-schema.ts';

/** Resolves once all that `act` did is committed. Throws what `act` does, or why it was aborted. */
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

/** A request may only tell that it was aborted, and so may idb's `done`: why is known at the end. */
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
    // It has ended by itself.
  }
}
