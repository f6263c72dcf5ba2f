import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { connectOwner, migrate } from '../../app/db/migrate.ts';
import { createDatabase, databaseUrls, dropDatabase } from '../../app/dev/postgres/database.ts';
import { testStack } from '../support/vault/stack.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';

/** Creates a database as of a migration; its connection is a superuser's and sees all rows. */
export async function databaseAt(t: ExecutionContext, migration: string) {
  const { postgres } = testStack();
  const name = `upgrade_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name);
  t.teardown(() => dropDatabase(postgres, name));
  const { owner, admin } = databaseUrls(postgres, name);
  const orm = await connectOwner(owner);
  await orm.migrator.up({ to: migration });
  await orm.close();
  const client = await connectAs(admin);
  t.teardown(() => client.end());
  return { owner, client };
}

/** Runs the pending migrations, by two processes at once. */
export async function upgrade(t: ExecutionContext, owner: string): Promise<void> {
  const ran = await Promise.all([migrate(owner), migrate(owner)]);
  t.is(ran.filter(({ length }) => length > 0).length, 1);
  const orm = await connectOwner(owner);
  t.teardown(() => orm.close());
  t.is(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
}
