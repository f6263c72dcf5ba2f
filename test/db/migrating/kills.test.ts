import test from 'ava';
import { migrationNames } from '../../../app/db/migrating/migration-names.ts';
import { connectOwner, migrate } from '../../../app/db/migrating/migrate.ts';
import {
  chosenOf,
  countMessages,
  killAt,
  type OwnersProgram,
} from '../../support/network/killed-program.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { complete, described, emptyDatabase, run } from './plans.ts';

/** The program that runs the test's own migrations, and that of the vault's. */
const ownPlans: OwnersProgram = ['test/db/migrating/migrate-plans.ts'];
const vaultsPlans: OwnersProgram = ['app/cli.ts', 'migrate'];

test('migrations whose process was killed at a message are completed by the next', async (t) => {
  const random = seededRandom(seed);
  const messages = await countMessages(t, ownPlans, (await emptyDatabase(t)).urls.owner);
  t.timeout(60_000 + Math.min(rounds, messages) * 60_000);
  t.log(`SEED=${seed} ROUNDS=${rounds} of ${messages}`);
  for (const message of chosenOf(messages, random)) {
    const { urls, admin } = await emptyDatabase(t);
    await killAt(t, ownPlans, { message, isSent: random() < 0.5, ownerUrl: urls.owner });
    await run(urls.owner);
    t.deepEqual((await admin.query(described)).rows, [complete], `message ${message}`);
  }
});

test("the vault's own migrations, killed anywhere, end in the same schema", async (t) => {
  const random = seededRandom(seed);
  const messages = await countMessages(t, vaultsPlans, (await emptyDatabase(t)).urls.owner);
  t.timeout(60_000 + Math.min(rounds, messages) * 120_000);
  t.log(`SEED=${seed} ROUNDS=${rounds} of ${messages}`);
  for (const message of chosenOf(messages, random)) {
    const { urls, admin } = await emptyDatabase(t);
    await killAt(t, vaultsPlans, { message, isSent: random() < 0.5, ownerUrl: urls.owner });
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
