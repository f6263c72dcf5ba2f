import { Client } from 'pg';
import { inTime } from '../../async/in-time.ts';
import { AppError } from '../../errors/app-error.ts';
import { valueOf, type Secret } from '../../secrets/secret.ts';

/** Milliseconds for a new connection and its first answer. */
const connectMs = 2_000;
/** Milliseconds after which a kept connection that does not answer is replaced by a new one. */
const overtakeMs = 200;

/**
 * Creates a connection apart from the pools, which tells whether Postgres answers whatever waits in
 * the pools. It is kept from one question to the next.
 */
export function createOwnConnection(url: Secret) {
  let kept: Client | undefined;
  let asking: Promise<void> | undefined;
  let isClosed = false;

  function drop(client: Client): void {
    if (kept === client) kept = undefined;
    // The peer may have vanished, so that an orderly end would take long.
    client.connection.stream.destroy();
  }

  function open(): Client {
    const client = new Client({ connectionString: valueOf(url), keepAlive: true });
    client.on('error', () => drop(client));
    return client;
  }

  async function connect(): Promise<void> {
    const client = open();
    try {
      await inTime(
        connectMs,
        client.connect().then(() => client.query('select 1')),
      );
    } catch (error) {
      drop(client);
      throw error;
    }
    if (isClosed) drop(client);
    else kept = client;
  }

  /** Asks on the kept connection. Resolves with false, and drops it, if it does not answer. */
  async function keptAnswers(): Promise<boolean> {
    const client = kept;
    if (client === undefined) return false;
    try {
      await inTime(overtakeMs, client.query('select 1'));
      return true;
    } catch {
      drop(client);
      return false;
    }
  }

  async function ask(): Promise<void> {
    try {
      if (!(await keptAnswers())) await connect();
    } catch (cause) {
      throw new AppError('database_unavailable', { cause });
    }
  }

  return {
    /**
     * Resolves if Postgres answers. Throws database_unavailable otherwise, within about two
     * seconds. Concurrent calls share one question.
     */
    ping(): Promise<void> {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },

    async close(): Promise<void> {
      isClosed = true;
      await asking?.catch(() => undefined);
      if (kept !== undefined) drop(kept);
    },
  };
}
