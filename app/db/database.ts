import { MikroORM } from '@mikro-orm/postgresql';
import { sql, type Kysely, type KyselyPlugin } from 'kysely';
import { escapeLiteral, TypeOverrides, types as pgTypes } from 'pg';
import { AppError } from '../errors/app-error.ts';
import { startIdleLimit, type IdleLimit } from './idle-limit.ts';
import { createPoolClient } from './pool-client.ts';
import { entities, type Schema } from './schema.ts';
import { isUnavailable } from './unavailable.ts';

/** One transaction, scoped to a user or to the service; typed by the entities. */
export type Tx = Kysely<Schema>;

/** Whose rows a transaction may see. */
export interface Owner {
  readonly userId: string;
  readonly tenantId: string;
}

/**
 * What `work` resolves with is answered once it is stored. Of a statement that failed nothing is, even
 * if `work` caught the error. After database_unavailable it may be stored: the connection may have
 * been lost over the commit's answer.
 */
export interface Database {
  /** One transaction in which row-level security shows `owner`'s rows alone. */
  asUser<T>(owner: Owner, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** One transaction of the service login, which sees all rows: workers, sign-up, maintenance. */
  asService<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface DatabaseOptions {
  /** Login that owns nothing and is bound by row-level security. */
  readonly url: string;
  readonly serviceUrl: string;
  readonly poolSize: number;
  /** How long a transaction may do nothing; default 30 s. */
  readonly idleMs?: number;
  /** How long Postgres may take to answer a statement before its connection is given up; default 35 s. */
  readonly answerMs?: number;
}

const statementMs = 30_000;

/** Opens one pool a login. Throws database_unavailable from every call while Postgres is away. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, serviceUrl, poolSize, idleMs = 30_000, answerMs = statementMs + 5_000 } = options;
  const limits = { poolSize, idleMs, answerMs };
  const [app, service] = await Promise.all([connect(url, limits), connect(serviceUrl, limits)]);
  return {
    asUser: (owner, work) => transaction(app, `begin; ${assume(owner)}`, work),
    asService: (work) => transaction(service, 'begin', work),
    ping: () => transaction(app, 'begin', async () => undefined),
    async close() {
      await Promise.all([app.orm.close(), service.orm.close()]);
    },
  };
}

const followUpsOf = new WeakMap<Tx, (() => void)[]>();

/** Calls back once `tx` has committed, never if it rolls back. The callback must not throw. */
export function afterCommit(tx: Tx, followUp: () => void): void {
  followUpsOf.get(tx)?.push(followUp);
}

interface Login {
  readonly orm: MikroORM;
  readonly pool: Kysely<Schema>;
  readonly idleMs: number;
}

async function connect(
  url: string,
  { poolSize, idleMs, answerMs }: Required<Omit<DatabaseOptions, 'url' | 'serviceUrl'>>,
): Promise<Login> {
  const orm = await MikroORM.init({
    entities: [...entities],
    clientUrl: url,
    pool: { min: 0, max: poolSize },
    driverOptions: {
      Client: createPoolClient({ answerMs }),
      types: valueParsers(),
      connectionTimeoutMillis: 5_000,
      statement_timeout: statementMs,
      idle_in_transaction_session_timeout: idleMs,
      keepAlive: true,
    },
    ensureDatabase: false,
    logger: () => undefined,
  });
  return { orm, pool: orm.em.fork().getKysely<Schema>(), idleMs };
}

/** Dates for timestamptz and numbers for bigint (all of ours stay below 2^53). */
function valueParsers(): TypeOverrides {
  const types = new TypeOverrides();
  types.setTypeParser(pgTypes.builtins.INT8, Number);
  return types;
}

/**
 * What the policies of row-level security look at, until the end of the transaction. Text, as several
 * statements in one round trip take no parameters.
 */
function assume({ userId, tenantId }: Owner): string {
  return `select set_config('app.user_id', ${escapeLiteral(userId)}, true),
    set_config('app.tenant_id', ${escapeLiteral(tenantId)}, true)`;
}

/**
 * Postgres answers the commit of a transaction in which a statement failed with success, and rolls it
 * back. The `select` before it is refused there, in the same round trip.
 */
const commit = sql.raw('select; commit');

/**
 * One transaction on a connection of its own, which goes back to the pool however it ends: MikroORM's
 * never gives a broken one back, and Kysely's spends a round trip on `begin` alone.
 */
async function transaction<T>(
  { pool, idleMs }: Login,
  begin: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const followUps: (() => void)[] = [];
  try {
    const result = await pool.connection().execute(async (connection) => {
      const state = { isOver: false };
      const idle = startIdleLimit({ idleMs, statementMs });
      const tx = connection.withPlugin(observeStatements(state, idle));
      followUpsOf.set(tx, followUps);
      try {
        await sql.raw(begin).execute(connection);
        const done = await Promise.race([work(tx), idle.exceeded]);
        state.isOver = true;
        await commit.execute(connection);
        return done;
      } catch (error) {
        state.isOver = true;
        // One that fails must not hide why there was one.
        await sql`rollback`.execute(connection).catch(() => undefined);
        throw error;
      } finally {
        idle.stop();
      }
    });
    for (const followUp of followUps) followUp();
    return result;
  } catch (cause) {
    throw isUnavailable(cause) ? new AppError('database_unavailable', { cause }) : cause;
  }
}

/** Keeps what outlives its transaction off the connection, which is someone else's by then. */
function observeStatements(
  transactionState: { readonly isOver: boolean },
  idle: IdleLimit,
): KyselyPlugin {
  return {
    transformQuery({ node }) {
      if (transactionState.isOver) throw new Error('the transaction is over');
      idle.statementBegins();
      return node;
    },
    async transformResult({ result }) {
      idle.statementEnds();
      return result;
    },
  };
}
