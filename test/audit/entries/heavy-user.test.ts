import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { sql as query, type Compilable } from 'kysely';
import { selectInReach, selectMatches } from '../../../app/audit/entries/matches.ts';
import { selectReadable } from '../../../app/audit/entries/readers.ts';
import { openDatabase, type Database, type Tx } from '../../../app/db/database.ts';
import type { TokenSubject } from '../../../app/tokens/access-token.ts';
import { explainPrepared, prepareStatement } from '../../db/prepared-plan.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';

type Reader = Pick<TokenSubject, 'userId' | 'tenantId' | 'roles'>;

interface PlanNode {
  readonly 'Actual Loops': number;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const test = anyTest as TestFn<{ vault: TestVault; db: Database }>;

const entries = 40_000;
/** Rows that a statement may read for each of ten that it returns, with the seals. */
const rowsEach = 10;
const heavy: Reader = { userId: randomUUID(), tenantId: 'default', roles: [] };
const light: Reader = { userId: randomUUID(), tenantId: 'acme', roles: [] };
const resource = '018f0000-0000-7000-8000-000000000001';
let ids: readonly string[] = [];

/** Appends entries of the heavy user, ten a resource, and one of the light user. */
const insertEntries = `
  insert into audit_log
    (id, user_id, tenant_id, resource_type, resource_id, seq, action, canonical)
  select uuidv7(), case when i > 0 then $1::uuid else $2::uuid end,
    case when i > 0 then 'default' else 'acme' end, 'upload',
    case when i < 10 then $3 else md5((i / 10)::text) end, i % 10 + 1, 'upload.created',
    repeat('x', 500)
  from generate_series(0, ${entries} - 1) i
  returning id`;

test.before(async (t) => {
  // Without a sealer no entry changes its state while the plans are measured.
  const vault = await startVault({ SIGNER_SOCKET_PATH: '/nowhere/signer.sock' });
  const sql = createSql(vault);
  const rows = await sql(insertEntries, [heavy.userId, light.userId, resource]);
  ids = rows.slice(-10).map(({ id }) => String(id));
  await sql('analyze');
  const { app: url, service: serviceUrl } = vault.databases;
  t.context = { vault, db: await openDatabase({ url, serviceUrl, poolSize: 1 }) };
});
test.after.always(async (t) => {
  await t.context.db.close();
  await t.context.vault.stop();
});

/** Returns how many rows a statement reads for the heavy user, planned for the light one. */
async function rowsOf(db: Database, select: (tx: Tx, reader: Reader) => Compilable) {
  const name = await db.asUser(light, (tx) => prepareStatement(tx, select(tx, light)));
  const execute = (reader: Reader) =>
    db.asUser(
      reader,
      async (tx) => (await explainPrepared(tx, name, select(tx, reader))) as PlanNode,
    );
  // By default Postgres keeps a plan after five executions.
  for (let time = 0; time < 7; time += 1) await execute(light);
  return countRows(await execute(heavy));
}

function countRows(node: PlanNode): number {
  const own = node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0));
  return (node.Plans ?? []).reduce((sum, child) => sum + countRows(child), own);
}

const statements: Readonly<Record<string, (tx: Tx, reader: Reader) => Compilable>> = {
  'the newest entries': (tx, reader) =>
    selectMatches(tx, selectInReach(tx, reader)).limit(query.lit(10)),
  'entries by their ids': (tx, reader) =>
    selectReadable(tx, reader)
      .select(['id', 'canonical', 'state', 'hash'])
      .where('id', '=', query<string>`any(${`{${ids.join()}}`}::uuid[])`),
  'entries of a resource': (tx, reader) =>
    selectReadable(tx, reader)
      .select(['id', 'seq'])
      .where('resource_type', '=', 'upload')
      .where('resource_id', '=', resource)
      .orderBy('seq')
      .limit(10),
};

for (const [what, select] of Object.entries(statements)) {
  test.serial(`a plan made for another user reads no more than its page: ${what}`, async (t) => {
    const rows = await rowsOf(t.context.db, select);
    t.true(rows > 0 && rows <= 10 * rowsEach, `${rows} rows`);
  });
}
