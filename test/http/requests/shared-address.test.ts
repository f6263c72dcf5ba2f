import test, { type ExecutionContext } from 'ava';
import { createSharedAddressWatch } from '../../../app/http/requests/shared-address.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { createAccount, logIn } from '../../support/accounts/test-account.ts';
import { serviceRequest } from '../../support/http/service-request.ts';
import { send } from '../../support/http/send.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

const minuteMs = 60_000;
const asked = serviceRequest({ internalKey: 'operator' });

function setUp() {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const watch = createSharedAddressWatch({ log, clock: () => new Date(nowMs) });
  return {
    watch,
    lines,
    /** Notes requests of users who come through the proxy, numbered from `from`. */
    through(proxy: string, users: number, from = 0) {
      for (let n = from; n < from + users; n += 1) {
        watch.note(`user ${n}`, { clientAddress: proxy, isPassedOn: true });
      }
    },
    /** Notes requests of users who come directly, each from an address of its own. */
    directly(users: number, from: number) {
      for (let n = from; n < from + users; n += 1) {
        watch.note(`user ${n}`, { clientAddress: `192.0.2.${n}`, isPassedOn: false });
      }
    },
    pass: (ms: number) => (nowMs += ms),
  };
}

test('ten users behind one untrusted proxy are reported, in one line that says why', (t) => {
  const { watch, lines, through } = setUp();
  through('203.0.113.7', 9);
  through('203.0.113.7', 9);
  t.is(watch.current(), undefined);
  t.deepEqual(lines, []);
  through('203.0.113.7', 1, 9);
  t.deepEqual(watch.current(), { users: 10, since: new Date('2026-01-01T00:00:00Z') });
  t.is(lines.length, 1);
  const { level, msg, clientAddress, users } = JSON.parse(lines[0] ?? '') as Record<
    string,
    unknown
  >;
  t.deepEqual(
    { level, clientAddress, users },
    { level: 'warn', clientAddress: '203.0.113.7', users: 10 },
  );
  t.regex(String(msg), /HTTP_TRUSTED_PROXIES/);
});

test('users who share an address without a proxy are not reported', (t) => {
  const { watch, lines } = setUp();
  for (let n = 0; n < 50; n += 1) {
    watch.note(`user ${n}`, { clientAddress: '203.0.113.7', isPassedOn: false });
  }
  t.is(watch.current(), undefined);
  t.deepEqual(lines, []);
});

test('a user with many forged headers is no crowd', (t) => {
  const { watch, through } = setUp();
  for (let n = 0; n < 50; n += 1) {
    watch.note('user 1', { clientAddress: `203.0.113.${n}`, isPassedOn: true });
  }
  for (let n = 0; n < 50; n += 1) through('203.0.113.7', 1);
  t.is(watch.current(), undefined);
});

test('a proxy of fewer than half of the users is not reported', (t) => {
  const { watch, directly, through } = setUp();
  directly(21, 100);
  through('203.0.113.7', 20);
  t.is(watch.current(), undefined);
  through('203.0.113.7', 1, 20);
  t.is(watch.current()?.users, 21);
});

test('the replicas of a proxy in one IPv6 network count as one client, as limits do', (t) => {
  const { watch, through } = setUp();
  through('2001:db8::1', 5);
  through('2001:db8::2', 5, 5);
  t.is(watch.current()?.users, 10);
});

test('the line is repeated once an hour, and the alert ends an hour after the cause', (t) => {
  const { watch, lines, through, pass } = setUp();
  for (let minute = 0; minute < 150; minute += 1) {
    through('203.0.113.7', 15);
    pass(minuteMs);
  }
  t.is(lines.length, 3);
  t.deepEqual(watch.current()?.since, new Date('2026-01-01T00:00:00Z'));
  pass(61 * minuteMs);
  t.is(watch.current(), undefined);
});

test('a window remembers at most 1,000 users', (t) => {
  const { watch, directly, through } = setUp();
  directly(1_000, 0);
  through('203.0.113.7', 5_000, 1_000);
  t.is(watch.current(), undefined);
});

async function visit(t: ExecutionContext, vault: TestVault, forwarded: string): Promise<void> {
  const token = await logIn(vault, await createAccount(vault));
  const headers = { 'x-forwarded-for': forwarded };
  const { status } = await send('GET', `${vault.baseUrl}/v1/uploads/config`, { token, headers });
  t.is(status, 200);
}

test('operators see an untrusted proxy in the log and in the alerts', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const warnings = () => vault.logLines.filter((line) => line.includes('HTTP_TRUSTED_PROXIES'));
  for (let n = 0; n < 9; n += 1) await visit(t, vault, `198.51.100.${n}`);
  t.is(warnings().length, 0);
  for (let n = 9; n < 12; n += 1) await visit(t, vault, `198.51.100.${n}`);
  t.is(warnings().length, 1);
  const alerts = await vault.services.dlq.alerts(asked);
  t.like(alerts, [
    { code: 'shared_client_address', severity: 'warning', value: 12, threshold: 10 },
  ]);
});

test('a proxy that is listed is not reported', async (t) => {
  const vault = await startReadyVault({ HTTP_TRUSTED_PROXIES: '127.0.0.1/32' });
  t.teardown(() => vault.stop());
  for (let n = 0; n < 12; n += 1) await visit(t, vault, `198.51.100.${n}`);
  t.deepEqual(
    vault.logLines.filter((line) => line.includes('HTTP_TRUSTED_PROXIES')),
    [],
  );
  t.deepEqual(await vault.services.dlq.alerts(asked), []);
});
