import { DatabaseError } from 'pg';
import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { loginNames, type LoginName } from '../../db/login.ts';
import type { ConnectionUse } from '../../db/pool/connection-use.ts';
import type { AnsweredStatement } from '../../db/pool/pool-client.ts';
import { operationOf } from '../../db/pool/statement-span.ts';

const operations: readonly string[] = [
  'BEGIN',
  'COMMIT',
  'DELETE',
  'INSERT',
  'ROLLBACK',
  'SELECT',
  'SET',
  'UPDATE',
  'WITH',
];

/** Classes of SQLSTATE by their codes, which are the first two characters of an SQLSTATE. */
const errorClasses: ReadonlyMap<string, string> = new Map([
  ['08', 'connection'],
  ['22', 'data'],
  ['23', 'constraint'],
  ['25', 'transaction_state'],
  ['28', 'authorization'],
  ['40', 'rollback'],
  ['42', 'access_or_syntax'],
  ['53', 'resources'],
  ['54', 'program_limit'],
  ['55', 'object_state'],
  ['57', 'intervention'],
  ['58', 'system'],
  ['XX', 'internal'],
]);
const connectionError = 'connection';

/** The buckets that OpenTelemetry advises for db.client.operation.duration, in seconds. */
const statementSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** Creates the metrics of the statements and connections of the two logins. */
export function createDatabaseMetrics(meter: Meter) {
  const duration = meter.histogram({
    name: 'db_client_operation_duration_seconds',
    help: 'Duration of statements, from sending one to its response',
    labels: {
      login: { values: loginNames },
      db_operation_name: { values: operations },
      error_type: {
        values: [...errorClasses.values()],
        description: 'the class of the SQLSTATE, or `connection`; absent without an error',
      },
    },
    buckets: statementSeconds,
  });
  return {
    /** Records a statement that has been answered, or that never will be. */
    answered(login: LoginName, { text, seconds, error }: AnsweredStatement): void {
      const labels = {
        login,
        db_operation_name: operationOf(text),
        error_type: error === undefined ? undefined : classOf(error),
      };
      duration.observe(labels, seconds);
    },
    ...createPoolMetrics(meter),
  };
}

function createPoolMetrics(meter: Meter) {
  const pool = { values: loginNames } as const;
  const count = meter.gauge({
    name: 'db_client_connection_count',
    help: 'Connections that a transaction uses',
    labels: {
      db_client_connection_pool_name: pool,
      db_client_connection_state: { values: ['used'] },
    },
  });
  const pending = meter.gauge({
    name: 'db_client_connection_pending_requests',
    help: 'Transactions that wait for a connection',
    labels: { db_client_connection_pool_name: pool },
  });
  const max = meter.gauge({
    name: 'db_client_connection_max',
    help: 'Connections that the pool may have',
    labels: { db_client_connection_pool_name: pool },
  });
  return {
    /** Has the use of connections, of up to `size` for each login, read at each scrape. */
    readConnections(use: Readonly<Record<LoginName, ConnectionUse>>, size: number): void {
      const named = loginNames.map(
        (login) => [{ db_client_connection_pool_name: login }, use[login]] as const,
      );
      count.readWith(() =>
        named.map(([labels, { used }]) => [
          { ...labels, db_client_connection_state: 'used' as const },
          used,
        ]),
      );
      pending.readWith(() => named.map(([labels, { waiting }]) => [labels, waiting]));
      max.readWith(() => named.map(([labels]) => [labels, size]));
    },
  };
}

function classOf(error: unknown): string {
  if (!(error instanceof DatabaseError)) return connectionError;
  return errorClasses.get((error.code ?? '').slice(0, 2)) ?? '';
}
