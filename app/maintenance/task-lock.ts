import { Client } from 'pg';
import { AppError } from '../errors/app-error.ts';

export interface TaskLock {
  /**
   * Does `work` while no other process does any under this name. Throws maintenance_running, or
   * database_unavailable. A lock whose connection breaks is free; the work goes on.
   */
  hold<T>(name: string, work: () => Promise<T>): Promise<T>;
}

const limitMs = 5_000;

/**
 * Advisory locks of Postgres, each on a connection of its own: it may be held for long, and no
 * transaction is. When the process dies, the lock is free at once.
 */
export function createTaskLock({ serviceUrl }: { readonly serviceUrl: string }): TaskLock {
  return {
    async hold(name, work) {
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

/** Until the connection ends. */
async function tryLock(client: Client, name: string): Promise<boolean> {
  try {
    await client.connect();
    const { rows } = await client.query<{ locked: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked',
      [`maintenance:${name}`],
    );
    return rows[0]?.locked === true;
  } catch (cause) {
    throw new AppError('database_unavailable', { cause });
  }
}

/** It is free when this resolves, unless Postgres hangs: then it is once the connection is found broken. */
async function unlock(client: Client): Promise<void> {
  await client.query('select pg_advisory_unlock_all()').catch(() => undefined);
  // With a query that was not answered it closes the connection itself; else Postgres does.
  await client.end().catch(() => undefined);
}
