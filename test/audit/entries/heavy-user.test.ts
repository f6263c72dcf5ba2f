import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { sql as query, type Compilable } from 'kysely';
import { selectInReach, selectMatches } from '../../../app/audit/entries/matches.ts';
import { selectReadable } from '../../../app/audit/entries/readers.ts';
import { selectOfResource } from '../../../app/audit/proofs/stored-proofs.ts';
import {
  inIndexOrder,
  openDatabase,
  type Database,
  type Options,
  type Tx,
} from '../../../app/db/database.ts';
import type { TokenSubject } from '../../../app/tokens/access-token.ts';
import { explainPrepared, prepareStatement } from '../../db/prepared-plan.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { appending } from '../../support/audit/log-rows.ts';

type Reader = Pick<TokenSubject, 'userId' | 'tenantId' | 'roles'>;

interface PlanNode {
  readonly 'Actual Loops': number;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

interface Statement {
  readonly select: (tx: Tx, reader: Reader) => Compilable;
  readonly options?: Options;
}

const test = anyTest as TestFn<{ vault: TestVault; db: Database }>;

const entries = 40_000;
/** Rows that a statement may read for each of ten that it returns, with the seals. */
const rowsEach = 10;
const heavy: Reader = { userId: randomUUID(), tenantId: 'default', roles: [] };
const light: Reader = { userId: randomUUID(), tenantId: 'acme', roles: [] };
const resource = '018f0000-0000-7000-8000-000000000001';
const heavyResource = '018f0000-0000-7000-8000-000000000002';
let ids: readonly string[] = [];
/** The trails of the resources, by their ids. */
const trails = new Map<string, number>();

/**
 * Appends entries of the heavy user, half of them ten a resource and the others of one resource,
 * and one of the light user.
 */
const insertEntries = `${appending(`
  select uuidv7(), case when i > 0 then $1::uuid else $2::uuid end,
    case when i > 0 then 'default' else 'acme' end, 'upload',
    case when i < 10 then $3 when i < ${entries / 2} then md5((i / 10)::text) else $4 end,
    case when i < ${entries / 2} then i % 10 else i - ${entries / 2} end + 1, 'upload.created',
    repeat('x', 500)
  from generate_series(0, ${entries} - 1) i`)} returning id`;

test.before(async (t) => {
  // Without a sealer no entry changes its state while the plans are measured.
  const vault = await startVault({ SIGNER_SOCKET_PATH: '/nowhere/signer.sock' });
  const sql = createSql(vault);
  const rows = await sql(insertEntries, [heavy.userId, light.userId, resource, heavyResource]);
  ids = rows.slice(-10).map(({ id }) => String(id));
  for (const trail of await sql('select id, resource_id from audit_trails')) {
    trails.set(String(trail['resource_id']), Number(trail['id']));
  }
  await sql('analyze');
  const { app: url, service: serviceUrl } = vault.databases;
  t.context = { vault, db: await openDatabase({ url, serviceUrl, poolSize: 1 }) };
});
test.after.always(async (t) => {
  await t.context.db.close();
  await t.context.vault.stop();
});

/** Returns how many rows a statement reads for the heavy user, planned for the light one. */
async function rowsOf(db: Database, { select, options }: Statement) {
  const name = await db.asUser(light, (tx) => prepareStatement(tx, select(tx, light)), options);
  const execute = (reader: Reader) =>
    db.asUser(
      reader,
      async (tx) => (await explainPrepared(tx, name, select(tx, reader))) as PlanNode,
      options,
    );
  // By default Postgres keeps a plan after five executions.
  for (let time = 0; time < 7; time += 1) await execute(light);
  return countRows(await execute(heavy));
}

function countRows(node: PlanNode): number {
  const own = node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0));
  return (node.Plans ?? []).reduce((sum, child) => sum + countRows(child), own);
}

const statements: Readonly<Record<string, Statement>> = {
  'the newest entries': {
    select: (tx, reader) => selectMatches(tx, selectInReach(tx, reader)).limit(query.lit(10)),
  },
  'entries by their ids': {
    select: (tx, reader) =>
      selectReadable(tx, reader)
        .select(['id', 'canonical', 'state', 'hash'])
        .where('id', '=', query<string>`any(${`{${ids.join()}}`}::uuid[])`),
  },
  ...Object.fromEntries(
    [resource, heavyResource].flatMap((id): [string, Statement][] => [
      [
        `entries of the resource ${id} in the order of their numbers`,
        {
          select: (tx, reader) =>
            selectOfResource(tx, reader, { type: 'upload', id }, { limit: 10 }),
          options: inIndexOrder,
        },
      ],
      [
        `the newest entries of the resource ${id}`,
        {
          select: (tx, reader) =>
            selectMatches(tx, selectInReach(tx, reader, { trailIds: [trails.get(id) ?? 0] })).limit(
              query.lit(10),
            ),
          options: inIndexOrder,
        },
      ],
    ]),
  ),
};

for (const [what, statement] of Object.entries(statements)) {
  test.serial(`a plan made for another user reads no more than its page: ${what}`, async (t) => {
    const rows = await rowsOf(t.context.db, statement);
    t.true(rows > 0 && rows <= 10 * rowsEach, `${rows} rows`);
  });
}
