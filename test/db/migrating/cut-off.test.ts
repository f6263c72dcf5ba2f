import test from 'ava';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { connectOwner, migrate } from '../../../app/db/migrating/migrate.ts';
import { migrationNames } from '../../../app/db/migrating/migration-names.ts';
import { startCutter } from '../../support/network/cutter.ts';
import { complete, described, emptyDatabase, run } from './plans.ts';

test('migrations that were cut off at any message are completed by the next call', async (t) => {
  t.timeout(300_000);
  t.log(`SEED=${seed}`);
  const random = seededRandom(seed);
  const whole = await emptyDatabase(t);
  const counter = await startCutter(t, whole.urls.owner);
  await run(counter.url);
  t.deepEqual((await whole.admin.query(described)).rows, [complete]);
  const messages = counter.counted();
  t.true(messages > 15, `${messages} messages`);
  for (let message = 1; message <= messages; message += 1) {
    const { urls, admin } = await emptyDatabase(t);
    const cutter = await startCutter(t, urls.owner);
    cutter.cutAt({ message, isSent: random() < 0.5 });
    await t.throwsAsync(run(cutter.url), undefined, `message ${message}`);
    await run(urls.owner);
    t.deepEqual((await admin.query(described)).rows, [complete], `message ${message}`);
  }
});

test("the vault's own migrations, cut off anywhere, end in the same schema", async (t) => {
  t.timeout(60_000 + rounds * 120_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const random = seededRandom(seed);
  const whole = await emptyDatabase(t);
  const counter = await startCutter(t, whole.urls.owner);
  await migrate(counter.url);
  for (let round = 0; round < rounds; round += 1) {
    const { urls, admin } = await emptyDatabase(t);
    const cutter = await startCutter(t, urls.owner);
    const message = 1 + Math.floor(random() * counter.counted());
    cutter.cutAt({ message, isSent: random() < 0.5 });
    await t.throwsAsync(migrate(cutter.url), undefined, `message ${message}`);
    await migrate(urls.owner);
    const { rows } = await admin.query<{ name: string }>('select name from migrations order by id');
    t.deepEqual(
      rows.map(({ name }) => name),
      migrationNames,
    );
    const orm = await connectOwner(urls.owner);
    t.is(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '', `message ${message}`);
    await orm.close();
  }
});
