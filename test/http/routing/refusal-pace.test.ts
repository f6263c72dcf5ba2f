import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createRefusalPace, refusalBurst } from '../../../app/http/routing/refusal-pace.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

const open = new AbortController().signal;

/** Counts which of `count` refusals are sent at once. */
async function sentAtOnce(wait: (signal: AbortSignal) => Promise<void>, count: number) {
  let sent = 0;
  const end = new AbortController();
  const all = Array.from({ length: count }, () =>
    wait(end.signal).then(
      () => (sent += 1),
      () => undefined,
    ),
  );
  // Longer than promises take to settle, and shorter than any wait.
  await new Promise((resolve) => setTimeout(resolve, 5));
  const atOnce = sent;
  end.abort();
  await Promise.all(all);
  return atOnce;
}

test('refusals of one address beyond a burst wait, and those of others do not', async (t) => {
  const pace = createRefusalPace(1);
  const first = await sentAtOnce((signal) => pace.wait('192.0.2.1', signal), refusalBurst + 20);
  t.is(first, refusalBurst);
  t.is(await sentAtOnce((signal) => pace.wait('192.0.2.1', signal), 1), 0);
  t.is(await sentAtOnce((signal) => pace.wait('192.0.2.2', signal), 1), 1);
});

test('the addresses of an IPv6 network have one pace', async (t) => {
  const pace = createRefusalPace(1);
  let n = 0;
  const sent = await sentAtOnce(
    (signal) => pace.wait(`2001:db8::${(n += 1).toString(16)}`, signal),
    refusalBurst + 20,
  );
  t.is(sent, refusalBurst);
});

test('a refusal that waited is sent', async (t) => {
  const pace = createRefusalPace(1_000);
  const all = Array.from({ length: refusalBurst + 50 }, () => pace.wait('192.0.2.1', open));
  await t.notThrowsAsync(Promise.all(all));
});

test('the wait ends with the connection', async (t) => {
  const pace = createRefusalPace(1);
  for (let n = 0; n < refusalBurst; n += 1) await pace.wait('192.0.2.1', open);
  const gone = new AbortController();
  const waiting = pace.wait('192.0.2.1', gone.signal);
  gone.abort();
  await t.throwsAsync(waiting, { name: 'AbortError' });
});

let vault: TestVault;
test.before(async () => {
  vault = await startReadyVault({ HTTP_REFUSALS_PER_ADDRESS: '1', HTTP_REQUESTS_PER_CLIENT: '4' });
});
test.after.always(() => vault.stop());

test('refused requests wait without a slot, whatever they are refused for', async (t) => {
  const end = new AbortController();
  let refused = 0;
  const ask = async (path: string, headers: Record<string, string>) => {
    await fetch(vault.baseUrl + path, { headers, signal: end.signal }).then(
      () => (refused += 1),
      () => undefined,
    );
  };
  const wrong = Array.from({ length: refusalBurst + 10 }, () =>
    ask('/v1/documents', { authorization: 'Bearer a.b.c' }),
  );
  await until(() => refused >= refusalBurst, { what: 'a burst of refusals', timeoutMs: 60_000 });
  const unknown = Array.from({ length: 10 }, () => ask('/v1/nothing-here', {}));
  for (let n = 0; n < 10; n += 1) {
    const { status } = await fetch(`${vault.baseUrl}/health/live`);
    t.is(status, 200);
  }
  t.true(refused < refusalBurst + 20, `${refused} refusals`);
  end.abort();
  await Promise.all([...wrong, ...unknown]);
});
