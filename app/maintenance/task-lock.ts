import { Client } from 'pg';
import { AppError } from '../errors/app-error.ts';
import { valueOf, type Secret } from '../secrets/secret.ts';

export type TaskLock = ReturnType<typeof createTaskLock>;

const limitMs = 5_000;

/**
 * Creates locks for maintenance tasks. Each lock is an advisory lock of Postgres on a connection of
 * its own, so that it can be held for a long time without an open transaction, and is released at
 * once when the process dies.
 */
export function createTaskLock({ serviceUrl }: { readonly serviceUrl: Secret }) {
  return {
    /**
     * Performs `work` while holding the lock `name`. Throws maintenance_running if another call or
     * process holds the lock, and database_unavailable. If the lock's connection breaks, Postgres
     * releases the lock and `work` continues without it.
     */
    async hold<T>(name: string, work: () => Promise<T>): Promise<T> {
      const client = new Client({
        connectionString: valueOf(serviceUrl),
        connectionTimeoutMillis: limitMs,
        query_timeout: limitMs,
        keepAlive: true,
      });
      client.on('error', () => undefined);
      try {
        if (!(await tryLock(client, name))) {
          throw new AppError('maintenance_running', { retryAfterSeconds: 60 });
        }
        return await work();
      } finally {
        await unlock(client);
      }
    },
  };
}

/**
 * Tries to acquire the lock, which is held until the connection closes. Resolves with false if the
 * lock is already held. Throws database_unavailable.
 */
async function tryLock(client: Client, name: string): Promise<boolean> {
  try {
    await client.connect();
    const { rows } = await client.query<{ readonly locked: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked',
      [`maintenance:${name}`],
    );
    return rows[0]?.locked === true;
  } catch (cause) {
    throw new AppError('database_unavailable', { cause });
  }
}

/**
 * Releases the lock and closes its connection. Never rejects. If Postgres hangs, it releases the
 * lock later, when it notices that the connection is closed.
 */
async function unlock(client: Client): Promise<void> {
  await client.query('select pg_advisory_unlock_all()').catch(() => undefined);
  // Closes the connection, also while a query still waits for its result.
  await client.end().catch(() => undefined);
}
