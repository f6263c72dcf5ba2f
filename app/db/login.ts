import { MikroORM } from '@mikro-orm/postgresql';
import type { Kysely } from 'kysely';
import { TypeOverrides, types as pgTypes } from 'pg';
import { valueOf, type Secret } from '../secrets/secret.ts';
import { countConnections, type ConnectionCount } from './pool/connection-use.ts';
import { createPoolClient, type AnsweredStatement } from './pool/pool-client.ts';
import type { Silence } from './pool/silence.ts';
import type { Schema } from './schema.ts';

/** Milliseconds after which a login that has had no response makes Postgres count as silent. */
const loginMs = 4_000;

/** The logins of the app, each with a pool of connections. */
export const loginNames = ['app', 'service'] as const;
export type LoginName = (typeof loginNames)[number];

/** The connections of one login. */
export interface Login {
  readonly connections: ConnectionCount;
  readonly orm: MikroORM;
  readonly pool: Kysely<Schema>;
  readonly checksLocks: boolean;
}

interface LoginOptions {
  readonly poolSize: number;
  readonly checksLocks?: boolean;
  readonly onAnswered: (statement: AnsweredStatement) => void;
  readonly onUnprepared?: () => void;
  readonly statementMs: number;
  readonly silence: Silence;
}

/**
 * Creates a pool, whose connections send no parameters of their own at the login: poolers refuse
 * most of them.
 */
export async function openLogin(
  url: Secret,
  {
    poolSize,
    statementMs,
    silence,
    onAnswered,
    checksLocks = false,
    onUnprepared = () => undefined,
  }: LoginOptions,
): Promise<Login> {
  const orm = await MikroORM.init({
    // Queries name their columns themselves, so nothing reads the metadata of entities, which take
    // 100 ms of a processor.
    entities: [],
    discovery: { warnWhenNoEntities: false },
    clientUrl: valueOf(url),
    pool: { min: 0, max: poolSize },
    driverOptions: {
      Client: createPoolClient({ url, loginMs, statementMs, silence, onAnswered, onUnprepared }),
      types: valueParsers(),
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    },
    ensureDatabase: false,
    logger: () => undefined,
  });
  const pool = orm.em.fork().getKysely<Schema>();
  return { connections: countConnections(), orm, pool, checksLocks };
}

/**
 * Returns parsers that convert bigint to a number, since all values stay below 2^53, and
 * timestamptz to a Date.
 */
function valueParsers(): TypeOverrides {
  const types = new TypeOverrides();
  types.setTypeParser(pgTypes.builtins.INT8, Number);
  return types;
}
