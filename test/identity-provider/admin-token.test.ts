import { randomUUID } from 'node:crypto';
import test from 'ava';
import { startStandIn } from '../../app/dev/identity-provider/stand-in.ts';
import { until } from '../../app/dev/processes/until.ts';
import { startFaultyProvider } from '../support/mfa/faulty-provider.ts';
import { connectTo, soon } from './provider-contract.ts';

test('the token of the service account is shared, and renewed before it expires', async (t) => {
  const standIn = await startStandIn({ port: 0, tokenSeconds: 5 });
  t.teardown(() => standIn.stop());
  const way = await startFaultyProvider(standIn.url);
  t.teardown(() => way.stop());
  let grants = 0;
  let lookups = 0;
  way.breakAs(({ url = '' }) => {
    if (url.endsWith('/token')) grants += 1;
    else lookups += 1;
    return undefined;
  });
  const provider = connectTo(way.url);
  const names = Array.from({ length: 5 }, () => randomUUID());
  let calls = names.length;
  await Promise.all(names.map((name) => provider.findSubject(name, soon())));
  t.is(grants, 1);
  const isRenewed = async () => {
    calls += 1;
    await provider.findSubject(randomUUID(), soon());
    return grants === 2;
  };
  await until(isRenewed, { what: 'a second token', timeoutMs: 30_000, intervalMs: 100 });
  // A call with a token that had expired would have been repeated.
  t.is(lookups, calls);
});
