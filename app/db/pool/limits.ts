/** The limits that Postgres enforces in one transaction. */
export interface TransactionLimits {
  /** Milliseconds that one statement may take. */
  readonly statementMs: number;
  /** Milliseconds for which the transaction may be idle before Postgres closes its connection. */
  readonly idleMs: number;
}

/**
 * Returns the statements that begin a transaction with limits. The settings end with the
 * transaction, and no connection needs parameters of its own: behind a pooler, the next transaction
 * of a connection may be that of another client.
 */
export function beginWithin({ statementMs, idleMs }: TransactionLimits): string {
  return (
    `begin; set local statement_timeout = ${statementMs}; ` +
    `set local idle_in_transaction_session_timeout = ${idleMs}`
  );
}

const beginning = /^begin; set local statement_timeout = (\d+);/;

/**
 * Returns the limit on statements of the transaction that a text begins; undefined if the text is
 * not one of `beginWithin`.
 */
export function findStatementMs(text: string): number | undefined {
  const found = beginning.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}
