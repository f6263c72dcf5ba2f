import { Client } from 'pg';
import { AppError } from '../errors/app-error.ts';

export type TaskLock = ReturnType<typeof createTaskLock>;

const limitMs = 5_000;

/**
 * Creates locks for maintenance tasks. Each is an advisory lock of Postgres on its own connection,
 * so that it may be held for long without an open transaction, and is free at once when the process
 * dies.
 */
export function createTaskLock({ serviceUrl }: { readonly serviceUrl: string }) {
  return {
    /**
     * Performs `work` while no other process performs any under this name. Throws
     * maintenance_running or database_unavailable. If the lock's connection breaks, the lock is
     * free and the work goes on.
     */
    async hold<T>(name: string, work: () => Promise<T>): Promise<T> {
      const client = new Client({
        connectionString: serviceUrl,
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

/** Tries to take the lock, which holds until the connection ends. Throws database_unavailable. */
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
 * Frees the lock, unless Postgres hangs: then the lock is free once the broken connection is
 * noticed.
 */
async function unlock(client: Client): Promise<void> {
  await client.query('select pg_advisory_unlock_all()').catch(() => undefined);
  // Closes the connection, also while a query still waits for its result.
  await client.end().catch(() => undefined);
}
