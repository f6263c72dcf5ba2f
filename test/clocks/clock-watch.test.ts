import test, { type ExecutionContext } from 'ava';
import { startClockWatch } from '../../app/clocks/clock-watch.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createLog } from '../../app/telemetry/log.ts';

/** Starts a watch whose clocks are ahead of the real time by milliseconds that the test sets. */
async function watch(t: ExecutionContext, aheadMs: { database: number; signer: number }) {
  const own = { aheadMs: 0 };
  let readings = 0;
  const clocks = startClockWatch({
    readings: {
      database: async () => (readings++, new Date(Date.now() + aheadMs.database)),
      signer: async () => {
        if (Number.isNaN(aheadMs.signer)) throw new Error('the signer is away');
        return new Date(Date.now() + aheadMs.signer);
      },
    },
    clock: () => new Date(Date.now() + own.aheadMs),
    log: createLog('silent'),
  });
  t.teardown(() => clocks.stop());
  await until(() => readings > 0, { what: 'a first reading', timeoutMs: 60_000 });
  await new Promise((resolve) => setImmediate(resolve));
  return { clocks, own };
}

test('clocks that agree within two seconds are fine', async (t) => {
  const { clocks } = await watch(t, { database: 1_500, signer: -1_500 });
  t.is(clocks.skewTo('database'), undefined);
  t.is(clocks.skewTo('signer'), undefined);
  t.notThrows(() => clocks.assertAgreement());
});

test('a difference above two seconds is told, and one over a minute refuses records', async (t) => {
  const { clocks } = await watch(t, { database: 10_000, signer: -61_000 });
  t.is(Math.round(clocks.skewTo('database')?.seconds ?? 0), -10);
  t.is(Math.round(clocks.skewTo('signer')?.seconds ?? 0), 61);
  t.throws(() => clocks.assertAgreement(), { message: /clocks/ });
});

test('a clock that is set between two readings is noticed at once', async (t) => {
  const { clocks, own } = await watch(t, { database: 0, signer: 0 });
  own.aheadMs = 3_600_000;
  t.is(Math.round(clocks.skewTo('database')?.seconds ?? 0), 3_600);
  t.throws(() => clocks.assertAgreement());
  own.aheadMs = 0;
  t.notThrows(() => clocks.assertAgreement());
});

test('a clock that cannot be read is not compared', async (t) => {
  const { clocks } = await watch(t, { database: 0, signer: Number.NaN });
  t.is(clocks.skewTo('signer'), undefined);
  t.notThrows(() => clocks.assertAgreement());
});
