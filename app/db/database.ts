import type { Kysely } from 'kysely';
import { escapeLiteral } from 'pg';
import { createFairSlots } from '../async/fair-slots.ts';
import type { Secret } from '../secrets/secret.ts';
import { createOwnConnection } from './pool/own-connection.ts';
import type { ConnectionUse } from './pool/connection-use.ts';
import { beginWithin, type TransactionLimits } from './pool/limits.ts';
import { untilBegun } from './pool/patience.ts';
import { responseMarginMs, type AnsweredStatement } from './pool/pool-client.ts';
import { createSilence } from './pool/silence.ts';
import { transaction } from './transaction.ts';
import { formatLimits, type Counts } from './usage/quota.ts';
import { openLogin, type LoginName } from './login.ts';
import type { Schema } from './schema.ts';

/** A transaction, scoped to a user or to the service login, and typed by the entities. */
export type Tx = Kysely<Schema>;

/** The user, in a tenant, whose rows a transaction may see. */
export interface Owner {
  readonly userId: string;
  readonly tenantId: string;
}

/**
 * Runs transactions. They resolve with the result of `work` once they have committed. A transaction
 * in which a statement failed rolls back, even if `work` caught the error. After
 * database_unavailable the outcome is unknown: the connection may have been lost during the commit.
 */
export interface Database {
  /**
   * Runs a transaction in which row-level security shows only the rows of `owner`. Each user has a
   * few connections; further transactions of this user wait for them. Throws busy if too many wait.
   */
  asUser<T>(owner: Owner, work: (tx: Tx) => Promise<T>, options?: UserOptions): Promise<T>;
  /** Runs a transaction of the service login, which sees all rows, for workers and maintenance. */
  asService<T>(work: (tx: Tx) => Promise<T>, options?: ServiceOptions): Promise<T>;
  /**
   * Resolves if Postgres answers on a connection of its own, so that a full pool does not matter.
   * Throws database_unavailable within about two seconds.
   */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** A database with what is known of its connections. */
export interface OpenDatabase extends Database {
  readonly connections: Readonly<Record<LoginName, ConnectionUse>>;
}

export interface Options {
  /**
   * Sends the commit right after the statements that `work` sends before it first waits, so that
   * the transaction takes one round trip; `work` can send no others. For reads, and for writes
   * that may be stored although the caller is told that Postgres is unavailable.
   */
  readonly atOnce?: boolean;
  /**
   * Has Postgres read rows in the order of an index where one has it, rather than sort all rows
   * that match: for pages of rows of which few match most values, and very many match some.
   */
  readonly inIndexOrder?: boolean;
}

export interface UserOptions extends Options {
  /**
   * The most that the owner may keep: the commit throws quota_exceeded if the transaction adds to
   * what the owner keeps and that would exceed a limit.
   */
  readonly limits?: Counts;
}

export interface ServiceOptions extends Options {
  /**
   * Allows each statement 30 s instead of 7 s: for statements over all rows of a user or of a
   * table. If Postgres gives no response to anything else either, they fail after 8 s too.
   */
  readonly isLengthy?: boolean;
  /**
   * Has Postgres read no whole table for which it has an index: for queues, and other tables whose
   * rows soon go. Their statistics are often those of an empty table, while a snapshot may keep all
   * rows that were removed.
   */
  readonly readsByIndex?: boolean;
}

/** Makes a transaction fit to read pages of rows, as `inIndexOrder` says. */
export const inIndexOrder: Options = { inIndexOrder: true };

/** Makes a transaction one round trip. */
export const atOnce: Options = { atOnce: true };

/** Allows the statements of a transaction of the service login more time. */
export const lengthy: ServiceOptions = { isLengthy: true };

/** Makes a transaction of the service login fit to read a queue, as `readsByIndex` says. */
export const ofQueue: ServiceOptions = { readsByIndex: true };

interface DatabaseOptions {
  /** URL of the app login, which owns no table and is subject to row-level security. */
  readonly url: Secret;
  /** URL of the service login, whose policies show all rows. */
  readonly serviceUrl: Secret;
  /** Maximum number of connections for each login. */
  readonly poolSize: number;
  /** Milliseconds for which a transaction may be idle; 30,000 by default. */
  readonly idleMs?: number;
  /**
   * Milliseconds that a statement may take unless its transaction is lengthy; 7,000 by default.
   * Postgres then ends the statement. If there is no response a second later, the connection is
   * closed.
   */
  readonly statementMs?: number;
  /** Called for each statement of a login once it has its response, or will have none. */
  readonly onAnswered?: (login: LoginName, statement: AnsweredStatement) => void;
  /** Called, once for each login, if a pooler does not support prepared statements. */
  readonly onUnprepared?: () => void;
  /**
   * Checks the order in which transactions take their locks, and that none begins within another;
   * for development.
   */
  readonly checksLocks?: boolean;
}

const lengthyMs = 30_000;
/** One user's part of the connections of the app login, so that others always find one free. */
export const partOfUser = 1 / 5;
const waitingPerUser = 200;
const waitMs = 7_000;

/**
 * Opens a connection pool for each login. Every call throws database_unavailable while Postgres
 * cannot be reached or does not respond.
 */
export async function openDatabase(options: DatabaseOptions): Promise<OpenDatabase> {
  const { url, serviceUrl, poolSize, idleMs = 30_000, statementMs = 7_000 } = options;
  const silence = createSilence();
  const { onAnswered = () => undefined } = options;
  const open = (name: LoginName, loginUrl: Secret) => {
    const tell = (statement: AnsweredStatement) => onAnswered(name, statement);
    return openLogin(loginUrl, { ...options, statementMs, silence, onAnswered: tell });
  };
  const [app, service] = await Promise.all([open('app', url), open('service', serviceUrl)]);
  const usual = within({ statementMs, idleMs });
  const patient = within({ statementMs: lengthyMs, idleMs });
  const patience = { usualMs: statementMs + responseMarginMs, silence };
  const own = createOwnConnection(url);
  const slots = createFairSlots({
    perKey: Math.max(1, Math.floor(poolSize * partOfUser)),
    inAll: poolSize,
    waitingPerKey: waitingPerUser,
    waitMs,
    noneFree: 'database_unavailable',
  });
  return {
    connections: { app: app.connections, service: service.connections },
    asUser: (owner, work, { limits: counts, ...options } = {}) =>
      untilBegun(patience, (begun) =>
        app.connections.during(() =>
          slots.take(owner.userId, () => {
            const begin = `${beginFor(usual, options)}; ${assume(owner, counts)}`;
            return transaction(app, { ...usual, ...options, begin, begun }, work);
          }),
        ),
      ),
    asService: (work, options = {}) =>
      untilBegun(patience, (begun) =>
        service.connections.during(() => {
          const allowed = options.isLengthy === true ? patient : usual;
          const begin = beginFor(allowed, options);
          return transaction(service, { ...allowed, ...options, begin, begun }, work);
        }),
      ),
    ping: own.ping,
    async close() {
      await Promise.all([app.orm.close(), service.orm.close(), own.close()]);
    },
  };
}

function within(limits: TransactionLimits) {
  return { begin: beginWithin(limits), limits };
}

/** Returns the statements that begin a transaction and make its plans those that it asks for. */
function beginFor(
  { begin }: ReturnType<typeof within>,
  { readsByIndex = false, inIndexOrder: isOrdered = false }: ServiceOptions,
): string {
  const statements = [begin];
  if (readsByIndex) statements.push('set local enable_seqscan = off');
  if (isOrdered) statements.push('set local enable_sort = off');
  return statements.join('; ');
}

/**
 * Returns the statement that sets the owner for row-level security, and the owner's limits, until
 * the transaction ends, and that each statement has one plan for all values (docs/adr/0042). The
 * values are literals, since several statements in one round trip cannot have parameters.
 */
function assume({ userId, tenantId }: Owner, limits: Counts | undefined): string {
  const bound = limits === undefined ? '' : formatLimits(limits);
  return `select set_config('app.user_id', ${escapeLiteral(userId)}, true),
    set_config('app.tenant_id', ${escapeLiteral(tenantId)}, true),
    set_config('app.limits', '${bound}', true),
    set_config('plan_cache_mode', 'force_generic_plan', true)`;
}
