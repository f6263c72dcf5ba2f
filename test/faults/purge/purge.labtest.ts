import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { insertExpired, sqlOn } from '../../support/accounts/purge-vault.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { send, type JsonAnswer } from '../../support/http/send.ts';
import { createKeyFile } from '../../support/vault/key-file.ts';
import { testStack } from '../../support/vault/stack.ts';
import { query } from '../audit/audit-check.ts';
import { purgeViolations } from './purge-violations.ts';
import { registerSteadily } from '../vault/registrations.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';

const expiredAccounts = 3_000;
const purgedAccounts = "(counts::json ->> 'purgedAccounts')::int from maintenance_runs";
const random = seededRandom(seed);

test('a killed purge leaves accounts whole or purged, and the next run completes it', async (t) => {
  t.timeout(60_000 + rounds * 120_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const keys = await createKeyFile();
  t.teardown(() => keys.remove());
  await using vault = await startVaultProcesses(testStack(), {
    settings: { HTTP_INTERNAL_ROUTES: 'both', INTERNAL_API_KEYS_FILE: keys.path },
  });
  const purge = () =>
    send('POST', `${vault.baseUrl}/v1/auth/purge/expired`, {
      headers: { 'X-Internal-Api-Key': keys.admin },
    });
  for (let round = 0; round < rounds; round++) await killPurge(t, vault, purge);
});

async function killPurge(
  t: ExecutionContext,
  vault: VaultProcesses,
  purge: () => Promise<JsonAnswer>,
): Promise<void> {
  const admin = await connectAs(vault.databases.admin);
  await insertExpired(sqlOn(admin), expiredAccounts);
  await admin.end();
  const before = await count(vault, purgedAccounts);
  const stop = new AbortController();
  const registering = registerSteadily(fetch, vault.baseUrl, stop.signal);
  // Starts two concurrent purges, which share the work.
  const cutOff = Promise.allSettled([purge(), purge()]);

  const killAt = before + 1 + Math.floor(random() * expiredAccounts * 0.8);
  await until(async () => (await count(vault, purgedAccounts)) >= killAt, {
    what: 'the purge to be in the middle',
    timeoutMs: 60_000,
    intervalMs: 5,
  });
  await vault.app.kill();
  stop.abort();
  const registered = await registering;
  await cutOff;
  await untilDisconnected(vault);
  await assertNoViolation(t, vault);
  const left = await count(vault, "1 from accounts where email like '%@example.org'");
  const purged = (await count(vault, purgedAccounts)) - before;
  t.is(left + purged, expiredAccounts);
  t.log(`killed after ${purged} of ${expiredAccounts} accounts`);

  await vault.app.start();
  const { status, body, text } = await purge();
  t.is(status, 200, text);
  t.like(body, { purgedAccounts: left });
  t.is(await count(vault, "1 from accounts where email like '%@example.org'"), 0);
  // Ends the leases of the messages that the killed app was working on.
  await query(vault, "update outbox set available_at = now() where kind = 'registration'");
  await untilKept(vault, registered);
  await assertNoViolation(t, vault);
}

async function assertNoViolation(t: ExecutionContext, vault: VaultProcesses): Promise<void> {
  for (const [what, text] of Object.entries(purgeViolations)) {
    t.deepEqual(await query(vault, text), [], what);
  }
}

async function count(vault: VaultProcesses, what: string): Promise<number> {
  const [row] = await query<{ readonly sum: number | null }>(
    vault,
    `select sum(n)::int from (select ${what}) x (n)`,
  );
  return row?.sum ?? 0;
}

/** Waits until the killed app's connections end, as a commit it had sent may still be running. */
function untilDisconnected(vault: VaultProcesses): Promise<boolean> {
  const connected = `select 1 from pg_stat_activity
    where datname = current_database() and usename in ('probatio_app', 'probatio_service')`;
  return until(async () => (await query(vault, connected)).length === 0, {
    what: 'the connections of the killed app to end',
    timeoutMs: 60_000,
  });
}

/** Waits until everyone who registered during the purge has a pending account. */
async function untilKept(vault: VaultProcesses, emails: readonly string[]): Promise<void> {
  const pending = "select email from accounts where status = 'PENDING_VALIDATION'";
  await until(
    async () => {
      const kept = new Set(
        (await query<{ readonly email: string }>(vault, pending)).map((row) => row.email),
      );
      return emails.every((email) => kept.has(email));
    },
    { what: 'an account for each registration', timeoutMs: 90_000, intervalMs: 200 },
  );
}
