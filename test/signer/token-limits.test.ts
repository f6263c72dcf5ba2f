import { randomUUID } from 'node:crypto';
import test from 'ava';
import { Registry } from 'prom-client';
import { createSignerLog } from '../../signer/log/signer-log.ts';
import { createMetrics } from '../../signer/metrics/metrics.ts';
import { createMeter } from '../../signer/protocol/metrics/meter.ts';
import { createTokenLimits } from '../../signer/requests/token-limits.ts';

function start(limits: { readonly perUser: number; readonly inAll: number }) {
  const registry = new Registry();
  const meter = createMeter(registry);
  const metrics = createMetrics({ meter, sessionsMax: 1, readState: () => 'ready' });
  const warned: unknown[] = [];
  const log = createSignerLog('signer', 'silent');
  log.warn = (line: unknown) => void warned.push(line);
  const take = createTokenLimits({ ...limits, metrics, log });
  const outcomes = async (subs: readonly string[]) => {
    const settled = await Promise.allSettled(subs.map((sub) => take(sub)));
    return settled.filter(({ status }) => status === 'fulfilled').length;
  };
  const refused = () => registry.getSingleMetricAsString('signer_tokens_refused_total');
  return { outcomes, warned, refused };
}

test('a user gets so many tokens a second, and others as many', async (t) => {
  const { outcomes, warned, refused } = start({ perUser: 5, inAll: 1_000 });
  const [one, two] = [randomUUID(), randomUUID()];
  t.is(await outcomes(Array.from({ length: 50 }, () => one)), 5);
  t.is(await outcomes(Array.from({ length: 5 }, () => two)), 5);
  t.deepEqual(warned, [{ limit: 'user', most: 5, sub: one }], 'one line a second for a user');
  t.regex(await refused(), /\{limit="user"\} 45$/m);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  t.is(await outcomes([one]), 1);
});

test('all users together get so many tokens a second', async (t) => {
  const { outcomes, warned, refused } = start({ perUser: 5, inAll: 20 });
  t.is(await outcomes(Array.from({ length: 100 }, () => randomUUID())), 20);
  t.is(warned.length, 1);
  t.regex(await refused(), /\{limit="all"\} 80$/m);
});
