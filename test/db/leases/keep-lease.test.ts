import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { keepLease } from '../../../app/db/leases/keep-lease.ts';
import { leaseSeconds, renewSeconds, retryAfterSeconds } from '../../../app/db/leases/lease.ts';

test.before(() => mock.timers.enable({ apis: ['setInterval', 'setTimeout'] }));
test.after.always(() => mock.timers.reset());

/** Lets time pass in steps of a second, and what waited for it run. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    mock.timers.tick(1_000);
    await setImmediate();
  }
}

/** A lease whose renewals and releases end as the test says; both succeed by default. */
function keep() {
  const calls: string[] = [];
  const outcome = { renew: async () => true, release: async () => {} };
  const lease = keepLease({
    renew: () => (calls.push('renew'), outcome.renew()),
    release: () => (calls.push('release'), outcome.release()),
    onLost: () => calls.push('lost'),
  });
  return { lease, calls, outcome };
}

const away = () => Promise.reject(new Error('Postgres is away'));

test.serial('a lease is renewed until it is stopped', async (t) => {
  const { lease, calls } = keep();
  await pass(2 * renewSeconds);
  t.deepEqual(calls, ['renew', 'renew']);
  lease.stop();
  await pass(2 * renewSeconds);
  t.deepEqual(calls, ['renew', 'renew']);
});

test.serial('a renewal that fails is repeated, and one that is refused ends it', async (t) => {
  const { calls, outcome } = keep();
  outcome.renew = away;
  await pass(2 * renewSeconds);
  t.deepEqual(calls, ['renew', 'renew']);
  outcome.renew = async () => false;
  await pass(3 * renewSeconds);
  t.deepEqual(calls, ['renew', 'renew', 'renew', 'lost']);
});

test.serial('a release that fails is repeated until it succeeds', async (t) => {
  const { lease, calls, outcome } = keep();
  outcome.release = away;
  await lease.release();
  await pass(2);
  outcome.release = async () => {};
  await pass(leaseSeconds);
  t.deepEqual(calls, ['release', 'release', 'release', 'release']);
});

test.serial('no two renewals run at once', async (t) => {
  const { lease, calls, outcome } = keep();
  const hanging = Promise.withResolvers<boolean>();
  outcome.renew = () => hanging.promise;
  await pass(3 * renewSeconds);
  t.deepEqual(calls, ['renew']);
  hanging.resolve(true);
  await pass(renewSeconds);
  t.deepEqual(calls, ['renew', 'renew']);
  lease.stop();
});

test('a client waits for the end of a lease only if its holder seems to be gone', (t) => {
  t.is(retryAfterSeconds(leaseSeconds), 2);
  t.is(retryAfterSeconds(leaseSeconds - renewSeconds), leaseSeconds - renewSeconds);
  t.is(retryAfterSeconds(3.2), 4);
  t.is(retryAfterSeconds(-1), 1);
});

for (const isHeld of [true, false]) {
  test.serial(`a release waits for a renewal under way, which says ${isHeld}`, async (t) => {
    const { lease, calls, outcome } = keep();
    const renewed = Promise.withResolvers<boolean>();
    outcome.renew = () => renewed.promise;
    await pass(renewSeconds);
    const released = lease.release();
    await pass(renewSeconds);
    t.deepEqual(calls, ['renew']);
    renewed.resolve(isHeld);
    await released;
    t.deepEqual(calls, ['renew', ...(isHeld ? [] : ['lost']), 'release']);
  });
}
