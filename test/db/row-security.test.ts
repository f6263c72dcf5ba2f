import test from 'ava';
import { escapeIdentifier, type Client } from 'pg';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { connectAs, createTenant, type Tenant } from '../support/accounts/two-tenants.ts';

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Whether each row belongs to one user, who may see it. */
  readonly hasOwner: boolean;
}

let vault: TestVault;
let app: Client;
let service: Client;
let tables: Table[];
let alice: Tenant;
let bob: Tenant;

test.before(async () => {
  vault = await startReadyVault();
  alice = await createTenant(vault, 'tenant-a');
  bob = await createTenant(vault, 'tenant-b');
  app = await connectAs(vault.databases.app);
  service = await connectAs(vault.databases.service);
  tables = await listTables(service);
});
test.after.always(async () => {
  await Promise.all([app.end(), service.end()]);
  await vault.stop();
});

/** Lists every table but the owner's bookkeeping, so that a new one cannot be forgotten. */
async function listTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; isShown: boolean }>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns,
      exists (select from pg_policies
        where tablename = relname and 'probatio_app' = any(roles) and cmd <> 'INSERT') as "isShown"
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and c.relname <> 'migrations'
    group by c.relname order by c.relname`);
  return rows.map(({ name, columns, isShown }) => ({
    name,
    columns,
    hasOwner: isShown && columns.includes('user_id') && columns.includes('tenant_id'),
  }));
}

/** Tables whose rows belong to nobody and are visible to every user. */
const shownToAll: ReadonlySet<string> = new Set(['audit_archives', 'sync_epochs']);

/** Runs a statement as the app does for a user, and rolls it back. */
async function asUser(tenant: Tenant | undefined, sql: string, values: unknown[] = []) {
  await app.query('begin');
  try {
    if (tenant !== undefined) {
      await app.query(
        "select set_config('app.user_id', $1, true), set_config('app.tenant_id', $2, true)",
        [tenant.userId, tenant.tenantId],
      );
    }
    return await app.query<Record<string, unknown>>(sql, values);
  } finally {
    await app.query('rollback');
  }
}

/** Returns the number of rows read or changed; 0 where the statement itself is not allowed. */
async function reach(tenant: Tenant | undefined, sql: string): Promise<number> {
  try {
    return (await asUser(tenant, sql)).rowCount ?? 0;
  } catch (error) {
    if ((error as { code?: string }).code === '42501') return 0;
    throw error;
  }
}

const isConcealed = ({ name }: Table) => !shownToAll.has(name);

const quoted = ({ name }: Table) => escapeIdentifier(name);

test.serial(
  'every table with an owner has rows of both users, so that the tests prove something',
  async (t) => {
    for (const table of tables.filter(({ hasOwner }) => hasOwner)) {
      for (const { userId, tenantId } of [alice, bob]) {
        const { rowCount } = await service.query(
          `select 1 from ${quoted(table)} where user_id = $1 and tenant_id = $2`,
          [userId, tenantId],
        );
        t.true((rowCount ?? 0) > 0, `${table.name} has no row of ${tenantId}`);
      }
    }
  },
);

test.serial('a user sees all of their own rows and nobody else’s', async (t) => {
  const { rowCount: seals } = await service.query(
    `select 1 from audit_seals join audit_log on id = entry_id
     where user_id = $1 and tenant_id = $2`,
    [alice.userId, alice.tenantId],
  );
  for (const table of tables.filter(isConcealed)) {
    const seen = await reach(alice, `select 1 from ${quoted(table)}`);
    const own = table.hasOwner
      ? await service.query(
          `select 1 from ${quoted(table)} where user_id = $1 and tenant_id = $2`,
          [alice.userId, alice.tenantId],
        )
      : { rowCount: 0 };
    t.is(seen, table.name === 'audit_seals' ? (seals ?? 0) : (own.rowCount ?? 0), table.name);
  }
});

test.serial(
  'no row of another user, or of the same user in another tenant, is visible',
  async (t) => {
    const strangers = [
      { userId: alice.userId, tenantId: bob.tenantId },
      { userId: bob.userId, tenantId: alice.tenantId },
      { userId: alice.userId, tenantId: '' },
    ];
    for (const table of tables.filter(isConcealed)) {
      for (const stranger of strangers) {
        t.is(await reach(stranger, `select 1 from ${quoted(table)}`), 0, table.name);
      }
      t.is(
        await reach(undefined, `select 1 from ${quoted(table)}`),
        0,
        `${table.name}, without a user`,
      );
    }
  },
);

test.serial('settings left empty by an earlier transaction make no row visible', async (t) => {
  for (const table of tables.filter(isConcealed)) {
    t.is(
      await reach({ userId: '', tenantId: '' }, `select 1 from ${quoted(table)}`),
      0,
      table.name,
    );
  }
});

test.serial('no row of another user can be changed or deleted', async (t) => {
  for (const table of tables) {
    const [column = ''] = table.columns;
    const set = `${escapeIdentifier(column)} = ${escapeIdentifier(column)}`;
    const whose = table.hasOwner ? `where user_id = '${bob.userId}'` : '';
    t.is(await reach(alice, `update ${quoted(table)} set ${set} ${whose}`), 0, table.name);
    t.is(await reach(alice, `delete from ${quoted(table)} ${whose}`), 0, table.name);
    t.is(await reach(undefined, `update ${quoted(table)} set ${set}`), 0, table.name);
    t.is(await reach(undefined, `delete from ${quoted(table)}`), 0, table.name);
  }
});

test.serial('a row cannot be given to another user or tenant', async (t) => {
  for (const table of tables.filter(({ hasOwner }) => hasOwner)) {
    for (const change of [`user_id = '${bob.userId}'`, `tenant_id = '${bob.tenantId}'`]) {
      const error = await t.throwsAsync(
        asUser(alice, `update ${quoted(table)} set ${change}`),
        undefined,
        `${table.name}: ${change}`,
      );
      t.is((error as { code?: string }).code, '42501', `${table.name}: ${change}`);
    }
  }
});

test.serial('no row can be inserted for another user or tenant', async (t) => {
  for (const table of tables.filter(({ hasOwner }) => hasOwner)) {
    const { rows } = await service.query<{ row: object }>(
      `select to_json(x) as row from ${quoted(table)} x where user_id = $1 limit 1`,
      [bob.userId],
    );
    const forged = [
      rows[0]?.row,
      { ...rows[0]?.row, tenant_id: alice.tenantId },
      { ...rows[0]?.row, user_id: alice.userId },
    ];
    for (const row of forged) {
      const error = await t.throwsAsync(
        asUser(
          alice,
          `insert into ${quoted(table)}
           select * from json_populate_record(null::${quoted(table)}, $1)`,
          [JSON.stringify(row)],
        ),
        undefined,
        table.name,
      );
      t.is((error as { code?: string }).code, '42501', table.name);
    }
  }
});

test.serial('a row of one user cannot reference a row of another', async (t) => {
  const { rows: references } = await service.query<{
    child: string;
    column: string;
    parent: string;
  }>(`
    select
      conrelid::regclass::text as child, confrelid::regclass::text as parent, a.attname as column
    from pg_constraint join pg_attribute a on a.attrelid = conrelid and a.attnum = conkey[1]
    where contype = 'f' and connamespace = 'public'::regnamespace`);
  const owned = new Set(tables.filter(({ hasOwner }) => hasOwner).map(({ name }) => name));
  for (const { child, column, parent } of references) {
    if (!owned.has(child) || !owned.has(parent)) continue;
    const { rows } = await service.query<{ row: object; id: string }>(
      `select to_json(c) as row, (select id from ${parent} where user_id = $2 limit 1) as id
       from ${child} c where user_id = $1 limit 1`,
      [alice.userId, bob.userId],
    );
    const row = JSON.stringify({ ...rows[0]?.row, [column]: rows[0]?.id });
    const insert = `insert into ${child} select * from json_populate_record(null::${child}, $1)`;
    const error = await t.throwsAsync(asUser(alice, insert, [row]), undefined, child);
    t.is((error as { code?: string }).code, '42501', child);
  }
});
