import { Client } from 'pg';
import anyTest, { type ExecutionContext } from 'ava';
import { migrate } from '../../../app/db/migrating/migrate.ts';
import { createOwnRoles, type OwnRoles } from './own-roles.ts';

// The tests are serial: one of them lets logins connect that another one expects to be refused.
const test = anyTest.serial;

let one: OwnRoles;
let two: OwnRoles;

anyTest.before(async () => {
  [one, two] = await Promise.all([createOwnRoles(), createOwnRoles()]);
});
anyTest.after.always(() => Promise.all([one, two].map((roles) => roles[Symbol.asyncDispose]())));

const insertDocument = `insert into documents (id, user_id, tenant_id, place)
  values (gen_random_uuid(), gen_random_uuid(), 'default', gen_random_uuid())`;

async function connect(t: ExecutionContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

test('vaults with roles of their own share a server, and each uses its own database', async (t) => {
  for (const { app, service, url, sql } of [one, two]) {
    await sql(insertDocument);
    const users = await connect(t, url(app));
    const workers = await connect(t, url(service));
    t.is((await users.query('select * from documents')).rowCount, 0);
    t.true(((await workers.query('select * from documents')).rowCount ?? 0) > 0);
  }
});

test('a migration for a role that does not exist leaves nothing behind', async (t) => {
  const empty = await one.createDatabase();
  const roles = { app: 'no_such_role', service: one.service };
  await t.throwsAsync(migrate(one.url(one.owner, empty), roles), { message: /no_such_role/ });
  t.true((await migrate(one.url(one.owner, empty), one)).length > 0);
});

test('no login of one vault connects to the database of another', async (t) => {
  for (const login of [one.app, one.service, one.owner]) {
    const client = new Client({ connectionString: two.url(login) });
    await t.throwsAsync(client.connect(), { code: '42501' }, login);
  }
});

test('a login that may connect to another vault’s database still gets at no row', async (t) => {
  await two.sql(insertDocument);
  for (const login of [one.app, one.service, one.owner]) {
    await two.sql(`grant connect on database ${two.database} to ${login}`);
    const client = await connect(t, two.url(login));
    for (const { name } of await two.sql(
      `select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
    )) {
      await t.throwsAsync(client.query(`select * from ${String(name)}`), {
        message: /permission denied/,
      });
    }
    await two.sql(`revoke connect on database ${two.database} from ${login}`);
  }
});
