import { AsyncLocalStorage } from 'node:async_hooks';
import { CompiledQuery, type DatabaseConnection, type Kysely } from 'kysely';
import { AppError } from '../errors/app-error.ts';
import { watchLocks } from './lock-order.ts';
import type { Login } from './login.ts';
import { hasState } from './pg-error.ts';
import type { Schema } from './schema.ts';
import { isUnavailable } from './unavailable.ts';
import { findQuotaError } from './usage/quota.ts';
import { startIdleLimit } from './pool/idle-limit.ts';
import type { TransactionLimits } from './pool/limits.ts';
import type { Begun } from './pool/patience.ts';
import { createPipeline, inTurn } from './pipeline.ts';

type Tx = Kysely<Schema>;

/** Calls after the commit of a transaction, and statements that are sent with it. */
interface AtCommit {
  readonly followUps: (() => void)[];
  readonly statements: Promise<unknown>[];
}

const atCommitOf = new WeakMap<Tx, AtCommit>();

/**
 * Calls `followUp` once `tx` has committed, and never if `tx` rolls back. `followUp` must not
 * throw.
 */
export function afterCommit(tx: Tx, followUp: () => void): void {
  atCommitOf.get(tx)?.followUps.push(followUp);
}

/**
 * Lets `tx` send its commit in the same round trip as a statement that was sent, whose result
 * `statement` awaits. If the statement fails, Postgres refuses the commit, and the transaction
 * throws what `statement` throws. Of a statement that must match a row, wait for the result
 * instead: the commit follows even if it matches none.
 */
export function commitWith(tx: Tx, statement: Promise<unknown>): void {
  statement.catch(() => undefined);
  atCommitOf.get(tx)?.statements.push(statement);
}

/**
 * Commits, and fails if a statement failed before: Postgres rolls such a transaction back and still
 * reports success for the commit, but it refuses the `select` in the same round trip.
 */
const commit = 'select; commit';

/** Whether the current code runs in the work of a transaction; set if locks are checked. */
const withinTransaction = new AsyncLocalStorage<true>();

/**
 * Runs `work` and refuses transactions that begin within it: enough of them at once would wait for
 * each other's connections.
 */
function alone<T>(work: () => Promise<T>): Promise<T> {
  if (withinTransaction.getStore() === true) {
    throw new Error('a transaction began within another one; pass the transaction on instead');
  }
  return withinTransaction.run(true, work);
}

/** The SQLSTATE with which Postgres refuses a statement because an earlier one failed. */
const refused = '25P02';

interface Beginning {
  /** The statements that begin the transaction and set `limits`. */
  readonly begin: string;
  readonly limits: TransactionLimits;
  readonly begun: Begun;
  /** Sends the commit after the first statements of the work, before anything has its result. */
  readonly atOnce?: boolean;
}

/**
 * Runs a transaction on a connection that always returns to the pool. MikroORM's own transactions
 * do not return broken connections, and Kysely's need an extra round trip for `begin`.
 */
export async function transaction<T>(
  { connections, pool, checksLocks }: Login,
  { begin, limits, begun, atOnce = false }: Beginning,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const atCommit: AtCommit = { followUps: [], statements: [] };
  const perform = async (connection: DatabaseConnection): Promise<T> => {
    const idle = startIdleLimit(limits);
    let isOver = false;
    const tx = createPipeline(connection, {
      // After the end, another transaction may use the connection.
      begins() {
        if (isOver) throw new Error('the transaction is over');
        idle.statementBegins();
      },
      succeeds: idle.statementEnds,
    });
    const send = (text: string) => connection.executeQuery(CompiledQuery.raw(text));
    atCommitOf.set(tx, atCommit);
    if (checksLocks) watchLocks(tx);
    try {
      const beginning = send(begin).then(begun);
      // The work may throw before anything awaits this promise.
      beginning.catch(() => undefined);
      // The first statements of the work are sent before the transaction has begun.
      const working = checksLocks ? alone(() => work(tx)) : work(tx);
      const begunAndDone = Promise.all([beginning, working]);
      begunAndDone.catch(() => undefined);
      if (!atOnce) await Promise.race([begunAndDone, idle.exceeded]);
      isOver = true;
      const ending = inTurn(begunAndDone, ...atCommit.statements, send(commit));
      await Promise.race([ending, idle.exceeded]);
      return await working;
    } catch (error) {
      isOver = true;
      // A failed rollback must not hide the error that caused it.
      await send('rollback').catch(() => undefined);
      // Postgres refused the statement after the failure of one that goes with the commit.
      if (hasState(error, refused)) await inTurn(...atCommit.statements);
      throw error;
    } finally {
      idle.stop();
    }
  };
  try {
    const result = await pool
      .getExecutor()
      .provideConnection((connection) => connections.use(() => perform(connection)));
    for (const followUp of atCommit.followUps) followUp();
    return result;
  } catch (cause) {
    if (isUnavailable(cause)) throw new AppError('database_unavailable', { cause });
    throw findQuotaError(cause) ?? cause;
  }
}
