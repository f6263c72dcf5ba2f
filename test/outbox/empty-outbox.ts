import type { ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { openDatabase, type Database } from '../../app/db/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createOutbox } from '../../app/outbox/outbox.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';

/** Creates an outbox with its own database and without a worker. */
export async function emptyOutbox(t: ExecutionContext) {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = database.settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 4 });
  t.teardown(() => db.close());
  await untilThere(db);
  const outbox = createOutbox({ onCommitted: () => undefined });
  return { db, outbox, proxy: database.proxy };
}

/**
 * Waits until a new database accepts connections: the first one takes longest and may have to be
 * retried.
 */
export const untilThere = (db: Database) =>
  until(
    () =>
      Promise.all([db.ping(), db.asService(async () => undefined)]).then(
        () => true,
        () => false,
      ),
    { what: 'the database', timeoutMs: 60_000 },
  );

export const count = (db: Database) =>
  db.asService(async (tx) => (await tx.selectFrom('outbox').select('id').execute()).length);

export const untilEmpty = (db: Database) =>
  until(async () => (await count(db)) === 0, { what: 'the outbox to be empty', timeoutMs: 60_000 });

/** Ends every lease and back-off. */
export const hurry = (db: Database) =>
  db.asService((tx) =>
    tx
      .updateTable('outbox')
      .set({ available_at: sql`now()` })
      .execute(),
  );
