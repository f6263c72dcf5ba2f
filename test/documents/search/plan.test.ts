import anyTest, { type TestFn } from 'ava';
import { sql as kyselySql } from 'kysely';
import { openDatabase, type Database, type Owner } from '../../../app/db/database.ts';
import { selectMatches } from '../../../app/documents/search/matches.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { createSql } from '../../support/vault/sql.ts';
import { keyword, type Search } from './searching.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Loops': number;
  readonly 'Actual Rows': number;
  readonly Plans?: readonly PlanNode[];
}

const test = anyTest as TestFn<{
  readonly vault: TestVault;
  readonly db: Database;
  readonly owner: Owner;
}>;

const documents = 20_000;
const users = 100;

/**
 * Inserts documents of many users. Keyword 1 is on all documents, 2 on the older half, 3 on the
 * newer, 4 on every fifth.
 */
const insertEvidence = `
  with users as (
    select gen_random_uuid() as user_id, n from generate_series(0, ${users} - 1) n
  ), inserted as (
    insert into documents (id, user_id, tenant_id, place)
    select gen_random_uuid(), user_id, 'default', uuidv7() from generate_series(1, ${documents}) i
    join users on n = i % ${users}
    returning id, user_id, place
  ), ranked as (
    select *, row_number() over (partition by user_id order by place) as rank from inserted
  ), named as (
    insert into document_keywords (user_id, tenant_id, keyword_hash, place, document_id)
    select user_id, 'default', lpad(keyword::text, 64, '0'), place, id
    from ranked cross join lateral (values
      (1), (case when rank <= ${documents / users / 2} then 2 else 3 end),
      (case when rank % 5 = 0 then 4 end)
    ) as naming (keyword)
    where keyword is not null
  )
  select user_id from users limit 1`;

test.before(async (t) => {
  const vault = await startVault();
  const sql = createSql(vault);
  const [user] = await sql(insertEvidence);
  await sql('analyze');
  const { app: url, service: serviceUrl } = vault.databases;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.context = { vault, db, owner: { userId: String(user?.user_id), tenantId: 'default' } };
});
test.after.always(async (t) => {
  await t.context.db.close();
  await t.context.vault.stop();
});

/** Returns the plan's nodes that read tables when a first page of 10 is executed. */
async function readsOf(
  { db, owner }: { readonly db: Database; readonly owner: Owner },
  { all = [], any = [] }: Search,
): Promise<PlanNode[]> {
  const matches = selectMatches(owner.userId, { all, any }, { limit: 10 });
  const { rows } = await db.asUser(owner, (tx) =>
    kyselySql<{
      'QUERY PLAN': [{ Plan: PlanNode }];
    }>`explain (analyze, format json) ${matches}`.execute(tx),
  );
  const flatten = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flatten)];
  const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
  if (plan === undefined) throw new Error('EXPLAIN returned no plan');
  return flatten(plan.Plan).filter((node) => node['Relation Name'] !== undefined);
}

const [everywhere, older, newer, fifth] = [keyword(1), keyword(2), keyword(3), keyword(4)] as const;

const searches: Record<string, Search> = {
  'one keyword': { all: [everywhere] },
  'all of two': { all: [everywhere, fifth] },
  'all of fifty': { all: Array.from({ length: 50 }, (_, i) => keyword(i)) },
  'any of three': { any: [everywhere, older, fifth] },
  'any of fifty': { any: Array.from({ length: 50 }, (_, i) => keyword(i)) },
  'all of two and any of two': { all: [everywhere, fifth], any: [older, newer] },
};

for (const [what, search] of Object.entries(searches)) {
  test(`under row-level security ${what} is found through the index of keywords`, async (t) => {
    const reads = await readsOf(t.context, search);
    t.true(reads.length > 0);
    for (const read of reads) {
      t.regex(read['Node Type'], /^Index (Only )?Scan$/);
      t.is(read['Index Name'], 'document_keywords_pkey');
      t.regex(read['Index Cond'] ?? '', /user_id = .*keyword_hash = .*place <=? /);
    }
  });
}

test('keywords that share no document are not read to their ends', async (t) => {
  const found = await readsOf(t.context, { all: [everywhere, older, newer] });
  const rows = found.map((read) => read['Actual Loops'] * read['Actual Rows']);
  t.true(Math.max(...rows) <= 6, String(rows));
});

test('a search reads no more rows than a page needs', async (t) => {
  for (const search of [{ all: [everywhere] }, { all: [everywhere, newer] }]) {
    const found = await readsOf(t.context, search);
    const rows = found.map((read) => read['Actual Loops'] * read['Actual Rows']);
    t.true(Math.max(...rows) <= 20, String(rows));
  }
});
