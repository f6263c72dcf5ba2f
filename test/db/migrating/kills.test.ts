import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { migrationNames } from '../../../app/db/migration-names.ts';
import { connectOwner, migrate } from '../../../app/db/migrate.ts';
import { inheritedEnvironment } from '../../../app/dev/processes/node-process.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { startCutter } from './cutter.ts';
import { complete, described, emptyDatabase, run } from './plans.ts';

/** The program that runs the test's own migrations, and that of the vault's. */
const ownPlans = ['test/db/migrating/migrate-plans.ts'];
const vaultsPlans = ['app/cli.ts', 'migrate'];

/** Starts a program that migrates a database. */
function start([file = '', ...args]: readonly string[], ownerUrl: string) {
  const env = { ...inheritedEnvironment(), DATABASE_OWNER_URL: ownerUrl };
  return spawn(process.execPath, [projectFile(file), ...args], { env, stdio: 'ignore' });
}

/** Returns the number of messages that a program sends until a database is migrated. */
async function countMessages(t: ExecutionContext, program: readonly string[]): Promise<number> {
  const { urls } = await emptyDatabase(t);
  const counter = await startCutter(t, urls.owner);
  const [code] = (await once(start(program, counter.url), 'exit')) as [number | null];
  t.is(code, 0);
  return counter.counted();
}

/** Kills a program at a message, and resolves once it is gone. */
async function killAt(
  t: ExecutionContext,
  program: readonly string[],
  { message, isSent, ownerUrl }: { message: number; isSent: boolean; ownerUrl: string },
): Promise<void> {
  const cutter = await startCutter(t, ownerUrl);
  const child = start(program, cutter.url);
  cutter.cutAt({ message, isSent, onCut: () => child.kill('SIGKILL') });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  t.deepEqual([code, signal], [null, 'SIGKILL'], `message ${message}`);
}

/** Returns the messages at which processes are killed: ROUNDS of them, or all if it is large. */
function chosen(messages: number, random: () => number): readonly number[] {
  const all = Array.from({ length: messages }, (_, index) => index + 1);
  if (rounds >= messages) return all;
  return Array.from({ length: rounds }, () => 1 + Math.floor(random() * messages));
}

test('migrations whose process was killed at a message are completed by the next', async (t) => {
  const random = seededRandom(seed);
  const messages = await countMessages(t, ownPlans);
  t.timeout(60_000 + Math.min(rounds, messages) * 60_000);
  t.log(`SEED=${seed} ROUNDS=${rounds} of ${messages}`);
  for (const message of chosen(messages, random)) {
    const { urls, admin } = await emptyDatabase(t);
    await killAt(t, ownPlans, { message, isSent: random() < 0.5, ownerUrl: urls.owner });
    await run(urls.owner);
    t.deepEqual((await admin.query(described)).rows, [complete], `message ${message}`);
  }
});

test("the vault's own migrations, killed anywhere, end in the same schema", async (t) => {
  const random = seededRandom(seed);
  const messages = await countMessages(t, vaultsPlans);
  t.timeout(60_000 + Math.min(rounds, messages) * 120_000);
  t.log(`SEED=${seed} ROUNDS=${rounds} of ${messages}`);
  for (const message of chosen(messages, random)) {
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
