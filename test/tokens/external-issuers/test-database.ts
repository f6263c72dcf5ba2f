import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { ExecutionContext } from 'ava';
import { createDatabase, databaseUrls, dropDatabase } from '../../../app/dev/postgres/database.ts';
import { openDatabase, type Database } from '../../../app/db/database.ts';
import { testStack } from '../../support/vault/stack.ts';

/** A migrated database, which the end of the test drops. */
export interface TestDatabase {
  readonly db: Database;
  /** Opens a second pool, as another replica has. */
  open(): Promise<Database>;
  countIdentities(): Promise<number>;
}

export async function startTestDatabase(t: ExecutionContext): Promise<TestDatabase> {
  const { postgres, templateDatabase } = testStack();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name, templateDatabase);
  t.teardown(() => dropDatabase(postgres, name));
  const { app, service } = databaseUrls(postgres, name);

  async function open(): Promise<Database> {
    const db = await openDatabase({ url: app, serviceUrl: service, poolSize: 20 });
    t.teardown(() => db.close());
    return db;
  }
  return {
    db: await open(),
    open,
    async countIdentities() {
      const client = new Client({ connectionString: service });
      await client.connect();
      const { rows } = await client.query<{ n: number }>('select count(*)::int n from identities');
      await client.end();
      return rows[0]?.n ?? 0;
    },
  };
}
