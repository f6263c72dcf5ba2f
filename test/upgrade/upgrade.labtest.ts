import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type * as migrations from '../../app/db/migrating/migrate.ts';
import { expandProblems } from '../architecture/migrations/expand.ts';
import { createAnsweredActions } from '../faults/audit/answered-actions.ts';
import { query, untilSealed } from '../faults/audit/audit-check.ts';
import { assertLog } from '../faults/audit/log-check.ts';
import { startLoad } from '../faults/vault/load.ts';
import { createAccount, logIn } from '../faults/vault/user.ts';
import { numberFrom, seed, seededRandom } from '../support/runs/rounds.ts';
import { testStack } from '../support/vault/stack.ts';
import { noRetries, startDeviceLoad } from './device-load.ts';
import { migrateTo, startFleet, type Fleet } from './fleet.ts';
import { sealHistory } from './history.ts';
import { watchLocks } from './lock-watch.ts';
import { composeMigrations, madeIndexes } from './next-migrations.ts';
import { checkOutPrevious, copyPresent, removeCopy, type Release } from './releases.ts';
import { assertTaken } from './side-by-side.ts';
import { watchRequests } from './watched-requests.ts';

/** Entries that the log has before the upgrade. */
const rows = numberFrom('ROWS', 20_000);
/** Milliseconds for which requests may wait for a lock, or behind it. */
const lockLimitMs = 1_000;
/** Milliseconds of load before and after each step. */
const paceMs = 1_500;
/**
 * A feed that is opened at a process which already drains. It is told to go elsewhere, as a feed is
 * that was opened before, and the client does so by itself.
 */
const endedFeed = /GET \/v1\/sync\/events: 503 .*"code":"shutting_down"/;
const random = seededRandom(seed);

interface Context {
  readonly fleet: Fleet;
  readonly previous: Release;
  readonly next: Release;
}

const test = anyTest as TestFn<Context>;
const resources = new AsyncDisposableStack();

test.before(async (t) => {
  t.timeout(300_000 + rows * 5);
  const directory = await mkdtemp(join(tmpdir(), 'probatio-upgrade-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const previous = await checkOutPrevious(join(directory, 'previous'));
  resources.defer(() => previous.remove());
  const fleet = resources.use(await startFleet(testStack(), previous));
  for (let pod = 0; pod < 2; pod += 1) await fleet.add(previous);
  const next = await copyPresent(join(directory, 'next'), composeMigrations());
  resources.defer(() => removeCopy(next));
  await sealHistory(fleet.databases.admin, rows);
  t.context = { fleet, previous, next };
});
test.after.always(() => resources.disposeAsync());

test.serial('the migrations of the next release keep to the rules', async (t) => {
  const { next } = t.context;
  const { baseline, connectOwner, planMigrations } = (await import(
    join(next.directory, 'app/db/migrating/migrate.ts')
  )) as typeof migrations;
  const orm = await connectOwner('postgresql://owner@127.0.0.1:1/vault');
  t.teardown(() => orm.close());
  const later = planMigrations(orm).filter(({ name }) => name !== baseline);
  t.true(later.length >= 2);
  t.deepEqual(later.flatMap(expandProblems), []);
});

test.serial('an upgrade, a rollback and an upgrade fail no request and lose nothing', async (t) => {
  t.timeout(600_000 + rows * 5);
  const { fleet, previous, next } = t.context;
  t.log(`${rows} entries, SEED=${seed}`);
  const answered = createAnsweredActions();
  const requests = watchRequests(answered.watch(globalThis.fetch));
  const account = await createAccount(fleet);
  const user = await logIn(fleet, account, { fetch: requests.fetch, retry: noRetries });
  const load = startLoad(fleet.baseUrl, [user], random);
  const devices = await startDeviceLoad(fleet, requests.fetch);
  const locks = await watchLocks(fleet.databases.admin);
  try {
    await delay(paceMs);
    // Both are of the next release: one of them works, and the other one waits for it.
    await Promise.all([1, 2].map(() => migrateTo(next, fleet.databases)));
    for (const release of [next, previous, next]) {
      await delay(paceMs);
      await fleet.roll(release);
    }
    await delay(paceMs);
  } finally {
    await Promise.all([load.stop(), devices.stop()]);
  }
  const seen = await locks.stop();
  const done = { ...load.report.succeeded, ...devices.report.done };
  t.log(`${requests.answered()} requests, ${JSON.stringify(done)}`);
  t.log(`${seen.samples} samples of locks; longest: ${longestOf([...seen.held, ...seen.waited])}`);

  t.deepEqual(
    requests.failures.filter((text) => !endedFeed.test(text)),
    [],
  );
  t.deepEqual([...load.report.failures, ...devices.report.failures], []);
  t.deepEqual(load.report.postponed, { login: 0, store: 0, certify: 0, read: 0 });
  assertWorked(t, done);
  t.true(seen.samples > 10);
  t.deepEqual(tooLong(seen.held), [], 'locks held');
  t.deepEqual(tooLong(seen.waited), [], 'locks waited for');
  const indexes = await query<{ readonly name: string; readonly isValid: boolean }>(
    fleet,
    madeIndexes,
  );
  t.true(indexes.length > 3);
  t.deepEqual(
    indexes.filter(({ isValid }) => !isValid),
    [],
  );

  for (const id of load.report.loginIds) answered.actions.add(`auth.login ${id}`);
  const entries = await untilSealed(fleet);
  t.true(entries > rows);
  const baseUrls = fleet.pods().map(({ baseUrl }) => baseUrl);
  await assertLog(t, { ...fleet, baseUrls }, answered, random);
  t.log(`${entries} entries, ${answered.actions.size} of them confirmed in responses`);
});

test.serial('each of two releases takes what the other one has begun or made', async (t) => {
  t.timeout(180_000);
  const { fleet, previous } = t.context;
  const [there] = fleet.pods();
  if (there === undefined) throw new Error('no pod of the next release runs');
  const here = await fleet.add(previous);
  t.not(here.release.name, there.release.name);
  const account = await createAccount(fleet);
  const [from, to] = [here.baseUrl, there.baseUrl];
  await assertTaken(t, { account, from, to });
  await assertTaken(t, { account, from: to, to: from });
});

function assertWorked(t: ExecutionContext, counts: Readonly<Record<string, number>>): void {
  t.deepEqual(
    Object.entries(counts).filter(([, count]) => count === 0),
    [],
  );
}

type Locks = readonly { readonly ms: number; readonly text: string }[];

const tooLong = (locks: Locks) =>
  locks.filter(({ ms }) => ms > lockLimitMs).map(({ text }) => text);

const longestOf = (locks: Locks) => locks.toSorted((a, b) => b.ms - a.ms)[0]?.text ?? 'none';
