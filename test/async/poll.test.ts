import test from 'ava';
import { poll } from '../../app/async/repeat.ts';
import { until } from '../../app/dev/processes/until.ts';

const never = 600_000;

/** Starts a poll whose looks find something as long as `isBusy` says so, and counts them. */
function countLooks(busyMs: number, isBusy: () => boolean) {
  const failures: unknown[] = [];
  let looks = 0;
  const look = async () => {
    looks += 1;
    return isBusy();
  };
  const polling = poll({ busyMs, idleMs: never }, look, (error) => failures.push(error));
  const untilLooks = (count: number) =>
    until(() => looks >= count, { what: `look ${count}`, timeoutMs: 60_000 });
  return { polling, untilLooks, failures, count: () => looks };
}

test('a poll that finds something looks again and again', async (t) => {
  const { polling, untilLooks } = countLooks(1, () => true);
  await t.notThrowsAsync(untilLooks(20));
  await polling.stop();
});

test('pauses double while nothing is found', async (t) => {
  const { polling, untilLooks, count } = countLooks(1, () => false);
  const startedAt = performance.now();
  await untilLooks(8);
  const passedMs = performance.now() - startedAt;
  await polling.stop();
  // The pauses before the first eight looks are 1, 2, 4 … 128 ms; timers may be early by one each.
  t.true(passedMs >= 255 - 16);
  t.true(count() >= 8);
});

test('a poll that is told of work looks soon', async (t) => {
  const { polling, untilLooks } = countLooks(1, () => false);
  for (let round = 1; round <= 30; round += 1) {
    polling.soon();
    // Without being told, the thirtieth look would come after 2^30 ms.
    await untilLooks(round);
  }
  await t.notThrowsAsync(polling.stop());
});

test('a poll can be made to look now, and stops at once', async (t) => {
  const { polling, untilLooks, count } = countLooks(never, () => false);
  polling.now();
  await untilLooks(1);
  await polling.stop();
  t.is(count(), 1);
});

test('a look that fails is reported and followed by others', async (t) => {
  const { polling, untilLooks, failures } = countLooks(1, () => {
    throw new Error('away');
  });
  await untilLooks(3);
  await polling.stop();
  t.true(failures.length >= 3);
  t.true(failures.every((error) => error instanceof Error && error.message === 'away'));
});
