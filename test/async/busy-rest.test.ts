import test from 'ava';
import { createBusyRest, restMs } from '../../app/async/busy-rest.ts';
import { until } from '../../app/dev/processes/until.ts';

test('the rest grows with the work and with the load, up to a second', (t) => {
  t.is(restMs(10, 0), 0);
  t.is(restMs(10, 0.2), 0);
  t.true(restMs(10, 0.35) > 0 && restMs(10, 0.35) < restMs(10, 0.5));
  t.is(restMs(10, 0.5), 30);
  t.is(restMs(10, 1), 30);
  t.is(restMs(5_000, 1), 1_000);
});

/** Occupies the event loop for more than the time over which its load is measured. */
function block(): void {
  const end = performance.now() + 300;
  while (performance.now() < end);
}

test.serial('a client alone never rests, whatever the load', (t) => {
  const restAfter = createBusyRest();
  block();
  t.is(restAfter('a', 10), 0);
  t.is(restAfter('a', 10), 0);
});

test.serial('clients rest while others are active and the event loop is busy', (t) => {
  const restAfter = createBusyRest();
  block();
  restAfter('a', 10);
  t.true(restAfter('b', 10) > 0);
  t.true(restAfter('a', 10) > 0);
  t.true(restAfter('a', 10) > 0);
});

test.serial('clients do not rest once the event loop is idle', async (t) => {
  const restAfter = createBusyRest();
  block();
  restAfter('a', 10);
  t.true(restAfter('b', 10) > 0);
  const isAtRest = () => {
    restAfter('a', 10);
    return restAfter('b', 10) === 0;
  };
  // Earlier tests of this process may have left work to do.
  await until(isAtRest, { what: 'no rest', timeoutMs: 60_000, intervalMs: 300 });
});
