import { MikroORM } from '@mikro-orm/postgresql';
import { sql, type Kysely } from 'kysely';
import { TypeOverrides, types as pgTypes } from 'pg';
import { AppError } from '../errors.ts';
import { entities, type Schema } from './schema.ts';

/** One transaction, scoped to a user or to the service; typed by the entities. */
export type Tx = Kysely<Schema>;

/** Whose rows a transaction may see. */
export interface Owner {
  readonly userId: string;
  readonly tenantId: string;
}

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
}

/** Opens one pool a login. Throws database_unavailable from every call while Postgres is away. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const [app, service] = await Promise.all([
    connect(options.url, options.poolSize),
    connect(options.serviceUrl, options.poolSize),
  ]);
  return {
    asUser: (owner, work) =>
      transaction(app, async (tx) => {
        await assume(tx, owner);
        return work(tx);
      }),
    asService: (work) => transaction(service, work),
    ping: () => transaction(app, async () => undefined),
    async close() {
      await Promise.all([app.close(), service.close()]);
    },
  };
}

const followUpsOf = new WeakMap<Tx, (() => void)[]>();

/** Calls back once `tx` has committed, never if it rolls back. The callback must not throw. */
export function afterCommit(tx: Tx, followUp: () => void): void {
  followUpsOf.get(tx)?.push(followUp);
}

function connect(url: string, poolSize: number): Promise<MikroORM> {
  return MikroORM.init({
    entities: [...entities],
    clientUrl: url,
    pool: { min: 0, max: poolSize },
    driverOptions: {
      types: valueParsers(),
      connectionTimeoutMillis: 5_000,
      statement_timeout: 30_000,
      idle_in_transaction_session_timeout: 30_000,
      keepAlive: true,
    },
    ensureDatabase: false,
    logger: () => undefined,
  });
}

/** Dates for timestamptz and numbers for bigint (all of ours stay below 2^53). */
function valueParsers(): TypeOverrides {
  const types = new TypeOverrides();
  types.setTypeParser(pgTypes.builtins.INT8, Number);
  return types;
}

/** What the policies of row-level security look at, until the end of the transaction. */
async function assume(tx: Tx, { userId, tenantId }: Owner): Promise<void> {
  await sql`select set_config('app.user_id', ${userId}, true),
    set_config('app.tenant_id', ${tenantId}, true)`.execute(tx);
}

/** Kysely's own transaction, since MikroORM's never gives a broken connection back to the pool. */
async function transaction<T>(orm: MikroORM, work: (tx: Tx) => Promise<T>): Promise<T> {
  const followUps: (() => void)[] = [];
  const failures: unknown[] = [];
  const database: Kysely<Schema> = orm.em.fork().getKysely<Schema>();
  try {
    const result = await database.transaction().execute(async (tx) => {
      followUpsOf.set(tx, followUps);
      try {
        return await work(tx);
      } catch (error) {
        failures.push(error);
        throw error;
      }
    });
    for (const followUp of followUps) followUp();
    return result;
  } catch (error) {
    // A rollback that fails must not hide why there was one.
    const [cause = error] = failures;
    throw isUnreachable(cause) ? new AppError('database_unavailable', { cause }) : cause;
  }
}

const unreachable: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  // admin_shutdown, crash_shutdown, cannot_connect_now, too_many_connections
  '57P01',
  '57P02',
  '57P03',
  '53300',
]);

function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof AppError) return false;
  return (
    unreachable.has((error as { code?: string }).code ?? '') ||
    /Connection terminated|not queryable|timeout exceeded when trying to connect/.test(
      error.message,
    ) ||
    isUnreachable(error.cause)
  );
}
