import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { Client } from 'pg';
import { openDatabase, type Database, type Tx } from '../../../app/db/database.ts';
import { inTurn } from '../../../app/db/pipeline.ts';
import { createStatementNames } from '../../../app/db/pool/statement-names.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';

/** Opens a database with a pool of one connection. */
async function open(t: ExecutionContext, onUnprepared?: () => void) {
  const { settings, ownerUrl, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1, onUnprepared });
  t.teardown(() => db.close());
  return { db, ownerUrl };
}

const totals = (tx: Tx) => tx.selectFrom('audit_totals').where('slot', '>=', 0);
const readSlots = (tx: Tx) => totals(tx).select(['slot', 'sealed']).execute();
const readAll = (tx: Tx) => totals(tx).selectAll().execute();

async function preparedTexts(db: Database): Promise<string[]> {
  const { rows } = await db.asService((tx) =>
    sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(tx),
  );
  return rows.map(({ statement }) => statement);
}

test('a repeated statement is prepared once, without its parameters', async (t) => {
  const { db } = await open(t);
  for (let n = 0; n < 10; n += 1) await db.asService(readSlots);
  t.deepEqual(await preparedTexts(db), [
    'select "slot", "sealed" from "audit_totals" where "slot" >= $1',
  ]);
});

test('a statement with a long list is not prepared, as each length is another text', async (t) => {
  const { db } = await open(t);
  const slots = Array.from({ length: 100 }, (_, index) => index);
  const readMany = (tx: Tx) => totals(tx).select('slot').where('slot', 'in', slots).execute();
  for (let n = 0; n < 6; n += 1) await db.asService(readMany);
  t.deepEqual(await preparedTexts(db), []);
});

test('a count of rows is prepared', async (t) => {
  const { db } = await open(t);
  const count = (tx: Tx) =>
    totals(tx)
      .select(({ fn }) => fn.countAll().as('count'))
      .execute();
  for (let n = 0; n < 4; n += 1) await db.asService(count);
  t.deepEqual(await preparedTexts(db), [
    'select count(*) as "count" from "audit_totals" where "slot" >= $1',
  ]);
});

for (const text of ['select * from t', 'delete from t returning\n "t".*', 'select a, t.* from t']) {
  test(`a statement with all columns is never named: ${text}`, (t) => {
    const statements = createStatementNames();
    for (let use = 0; use < 5; use += 1) t.is(statements.find(text, 1), undefined);
  });
}

test('a statement that fails repeatedly keeps its error and breaks no later one', async (t) => {
  const { db } = await open(t);
  const insertTwice = (tx: Tx) =>
    tx.insertInto('audit_totals').values({ slot: 1_000, sealed: 0 }).execute();
  await db.asService(insertTwice);
  for (let n = 0; n < 6; n += 1) {
    await t.throwsAsync(db.asService(insertTwice), { message: /audit_totals_pkey/ });
  }
  t.true((await db.asService(readSlots)).some(({ slot }) => slot === 1_000));
});

test('a statement that is refused before it is prepared keeps its name', async (t) => {
  let isUnprepared = false;
  const { db } = await open(t, () => {
    isUnprepared = true;
  });
  for (let n = 0; n < 2; n += 1) await db.asService(readSlots);
  for (let n = 0; n < 2; n += 1) {
    const work = db.asService((tx) =>
      inTurn(sql`select 1 / 0`.execute(tx), readSlots(tx), readSlots(tx), readSlots(tx)),
    );
    await t.throwsAsync(work, { code: '22012' });
  }
  await db.asService(readSlots);
  t.is((await preparedTexts(db)).length, 1);
  t.false(isUnprepared);
});

test('a migration may change a table that a running app has read', async (t) => {
  const { db, ownerUrl } = await open(t);
  const read = async (tx: Tx) => [await readSlots(tx), await readAll(tx)];
  for (let n = 0; n < 6; n += 1) await db.asService(read);
  const owner = new Client(ownerUrl);
  await owner.connect();
  await owner.query('alter table audit_totals add column note text');
  await owner.end();
  const [slots, all] = await db.asService(read);
  t.deepEqual(
    all?.map(({ slot, sealed }) => ({ slot, sealed })),
    slots?.map(({ slot, sealed }) => ({ slot, sealed })),
  );
});

test('a statement gets a name at its third use and keeps it', (t) => {
  const statements = createStatementNames();
  const [first, second, third, fourth] = [1, 2, 3, 4].map(() => statements.find('select $1', 1));
  t.deepEqual([first, second], [undefined, undefined]);
  t.is(typeof third, 'string');
  t.is(fourth, third);
});

test('two pools give a statement the same name, and other statements another one', (t) => {
  const nameIn = (before: number) => {
    const statements = createStatementNames();
    for (let n = 0; n < before; n += 1) {
      for (let use = 0; use < 3; use += 1) statements.find(`select $1 + ${n}`, 1);
    }
    return [1, 2, 3].map(() => statements.find('select $1', 1)).at(-1);
  };
  t.is(nameIn(0), nameIn(7));
  const statements = createStatementNames();
  const names = ['select $1', 'select $1 + 1'].map((text) =>
    [1, 2, 3].map(() => statements.find(text, 1)).at(-1),
  );
  t.is(new Set(names).size, 2);
});

test('no more names are given after a pooler lost a statement', (t) => {
  const statements = createStatementNames();
  const find = () => statements.find('select $1', 1);
  t.is(typeof [find(), find(), find()].at(-1), 'string');
  t.true(statements.stop());
  t.false(statements.stop());
  t.is(find(), undefined);
});

test('a statement that a pooler lost is tried once, and then without a name', async (t) => {
  const unprepared: string[] = [];
  const { settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const db = await openDatabase({
    url: settings.DATABASE_URL,
    serviceUrl: settings.DATABASE_SERVICE_URL,
    poolSize: 1,
    onUnprepared: () => unprepared.push('once'),
  });
  t.teardown(() => db.close());
  for (let n = 0; n < 4; n += 1) await db.asService(readSlots);
  // A pooler would do so by giving the transaction another connection.
  await db.asService((tx) => sql`deallocate all`.execute(tx));
  await t.throwsAsync(db.asService(readSlots), { code: 'database_unavailable' });
  for (let n = 0; n < 4; n += 1) t.true((await db.asService(readSlots)).length > 0);
  t.deepEqual(await preparedTexts(db), []);
  t.deepEqual(unprepared, ['once']);
});

test('the number of named statements is limited', (t) => {
  const statements = createStatementNames();
  const names = new Set<string | undefined>();
  for (let n = 0; n < 2_000; n += 1) {
    for (let use = 0; use < 3; use += 1) names.add(statements.find(`select $1 + ${n}`, 1));
  }
  names.delete(undefined);
  t.is(names.size, 200);
});
