import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { Client } from 'pg';
import { createDatabase, databaseUrls, dropDatabase } from '../../app/dev/postgres/database.ts';
import { testStack } from '../support/vault/stack.ts';

test('a database is copied once nobody uses its template any more', async (t) => {
  const { postgres } = testStack();
  const [template, copy] = ['template', 'copy'].map(
    (name) => `${name}_${randomUUID().replaceAll('-', '')}`,
  ) as [string, string];
  t.teardown(async () => {
    await dropDatabase(postgres, copy);
    await dropDatabase(postgres, template);
  });
  await createDatabase(postgres, template);
  const user = new Client({ connectionString: databaseUrls(postgres, template).admin });
  await user.connect();
  await user.query('create table kept (number int)');
  // Postgres itself waits for 5 s.
  const [copied] = await Promise.allSettled([
    createDatabase(postgres, copy, template),
    delay(6_000).then(() => user.end()),
  ]);
  t.deepEqual(copied, { status: 'fulfilled', value: undefined });
  const reader = new Client({ connectionString: databaseUrls(postgres, copy).admin });
  await reader.connect();
  t.teardown(() => reader.end());
  t.deepEqual((await reader.query('select * from kept')).rows, []);
});
