import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { testStack } from '../../support/vault/stack.ts';
import { assertNoViolation, assertProofsVerify, query, untilSealed } from '../audit/audit-check.ts';
import { startLoad, type Action, type LoadReport } from '../vault/load.ts';
import { numberFrom, rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { createAccount, logIn, type Account } from '../vault/user.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';

const users = 3;
const outageMs = numberFrom('OUTAGE_SECONDS', 2) * 1000;
/** Milliseconds that a certification waits for its signature. */
const certificationWaitMs = 5_000;
/** Without retries, so that every refusal is seen. */
const retry = { ...defaultRetry, attempts: 1 };
const random = seededRandom(seed);

test('a killed signer loses and doubles no entry; only logins and certificates stop', async (t) => {
  t.timeout(60_000 + rounds * (outageMs + 60_000));
  t.log(`SEED=${seed} ROUNDS=${rounds} OUTAGE_SECONDS=${outageMs / 1000}`);
  await using vault = await startVaultProcesses(testStack());
  const accounts = await Promise.all(Array.from({ length: users }, () => createAccount(vault)));
  for (let round = 0; round < rounds; round++) await killSigner(t, vault, accounts);
});

async function killSigner(t: ExecutionContext, vault: VaultProcesses, accounts: Account[]) {
  const people = await Promise.all(accounts.map((account) => logIn(vault, account, { retry })));
  const load = startLoad(vault.baseUrl, people, random);
  const { report } = load;
  try {
    await delay(500 + 1_000 * random());
    await vault.signer.kill();
    await delay(outageMs);
    // Meanwhile documents are still stored and read, and logins get a 503.
    await Promise.all([
      untilMore(report.succeeded, 'store'),
      untilMore(report.succeeded, 'read'),
      untilMore(report.postponed, 'login'),
    ]);
    const refused = report.postponed.certify;
    await vault.signer.start();
    if (outageMs > certificationWaitMs) t.true(refused > 0, 'certifications were refused too');
    await delay(500 + 1_000 * random());
  } finally {
    await load.stop();
  }
  t.deepEqual(report.failures, []);
  t.true(report.succeeded.certify > 0);

  const entries = await untilSealed(vault);
  t.log(summary(report, entries));
  await assertNoViolation(t, vault);
  await assertProofsVerify(t, vault);
  const logins = await query<{ readonly id: string }>(
    vault,
    "select resource_id as id from audit_entries where action = 'auth.login'",
  );
  const recorded = new Set(logins.map(({ id }) => id));
  const unrecorded = report.loginIds.filter((id) => !recorded.has(id));
  t.deepEqual(unrecorded, [], 'each login has an audit entry');
}

async function untilMore(counts: Record<Action, number>, action: Action): Promise<void> {
  const before = counts[action];
  await until(() => counts[action] > before, {
    what: `another success or refusal of ${action}`,
    timeoutMs: 60_000,
  });
}

function summary({ succeeded, postponed }: LoadReport, entries: number): string {
  const list = (counts: object) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${String(count)}`)
      .join(', ');
  const actions = `succeeded: ${list(succeeded)}; 503: ${list(postponed)}`;
  return `${actions}; entries sealed so far: ${entries}`;
}
