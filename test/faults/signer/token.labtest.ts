import { readFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { until } from '../../../app/dev/processes/until.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { send } from '../../support/http/send.ts';
import { createKeyFile } from '../../support/vault/key-file.ts';
import { createTokenServer } from '../../support/processes/p11-kit.ts';
import { createTokenFixture } from '../../support/audit/token-fixture.ts';
import { testStack } from '../../support/vault/stack.ts';
import { assertNoViolation, assertProofsVerify, query, untilSealed } from '../audit/audit-check.ts';
import { startLoad } from '../vault/load.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { createAccount, logIn, type User } from '../vault/user.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';

const users = 2;
/** Without retries, so that every refusal is seen. */
const retry = { ...defaultRetry, attempts: 1 };
const random = seededRandom(seed);
const Alerts = z.object({ alerts: z.array(z.object({ code: z.string() })) });

interface Stage {
  readonly vault: VaultProcesses;
  readonly people: readonly User[];
  /** Resolves with the codes of the alerts. */
  readAlerts(): Promise<string[]>;
  /** Resolves with the statistics of the dead-letter queue. */
  readStats(): Promise<unknown>;
}

test('a token that disappears for a while delays signatures and nothing else', async (t) => {
  t.timeout(60_000 + rounds * 240_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  await using resources = new AsyncDisposableStack();
  const fixture = await createTokenFixture();
  resources.defer(() => fixture.remove());
  await fixture.tool('init');
  const server = createTokenServer(fixture);
  await server.start();
  resources.defer(() => server.kill());
  const keys = await createKeyFile();
  resources.defer(() => keys.remove());
  const signerEnvironment = {
    ...fixture.environment,
    ...server.environment,
    // The signer soon gives up an operation of a token that hangs.
    SIGNER_OPERATION_TIMEOUT_MS: '2000',
  };
  const settings = {
    HTTP_INTERNAL_ROUTES: 'both',
    INTERNAL_API_KEYS_FILE: keys.path,
    AUDIT_ALERT_PAUSE_SECONDS: '1',
  };
  const stack = { ...testStack(), signerEnvironment };
  const vault = resources.use(await startVaultProcesses(stack, { settings }));
  const ask = async (path: string) => {
    const headers = { 'X-Internal-Api-Key': keys.admin };
    return (await send('GET', `${vault.baseUrl}/v1/audit/proof/dlq/${path}`, { headers })).body;
  };
  const accounts = await Promise.all(Array.from({ length: users }, () => createAccount(vault)));
  const readAlerts = async () => Alerts.parse(await ask('alerts')).alerts.map(({ code }) => code);
  const readStats = () => ask('stats');
  for (let round = 0; round < rounds; round++) {
    const people = await Promise.all(accounts.map((account) => logIn(vault, account, { retry })));
    const stage: Stage = { vault, people, readAlerts, readStats };
    await loseToken(t, stage, {
      leave: () => server.kill(),
      comeBack: () => server.start(),
    });
    await loseToken(t, stage, { leave: () => server.hang(), comeBack: () => server.resume() });
  }
});

interface Outage {
  leave(): void | Promise<void>;
  comeBack(): void | Promise<void>;
}

async function loseToken(
  t: ExecutionContext,
  { vault, people, readAlerts, readStats }: Stage,
  { leave, comeBack }: Outage,
): Promise<void> {
  const before = await countBreaks(vault);
  const load = startLoad(vault.baseUrl, people, random);
  const { report } = load;
  try {
    await untilSeen('a certification', () => report.succeeded.certify > 0);
    await leave();
    try {
      await untilSeen('a refused login', () => report.postponed.login > 0);
      await untilSeen('a refused certification', () => report.postponed.certify > 0);
      const { store, read } = report.succeeded;
      await untilSeen('documents stored during the outage', () => report.succeeded.store > store);
      await untilSeen('documents read during the outage', () => report.succeeded.read > read);
      await untilSeen('the alert', async () => (await readAlerts()).includes('sealing_paused'));
      t.is((await countBreaks(vault)).opened, before.opened + 1, 'the breaker opened once');
    } finally {
      await comeBack();
    }
    const { login, certify } = report.succeeded;
    await untilSeen('logins again', () => report.succeeded.login > login);
    await untilSeen('certifications again', () => report.succeeded.certify > certify);
  } finally {
    await load.stop();
  }
  t.deepEqual(report.failures, []);

  const entries = await untilSealed(vault);
  await untilSeen('the end of the alert', async () => (await readAlerts()).length === 0);
  t.is((await countBreaks(vault)).closed, before.closed + 1);
  t.deepEqual(await query(vault, 'select entry_id from audit_queue where attempts > 0'), []);
  t.like(await readStats(), { total: 0 });
  await assertNoViolation(t, vault);
  await assertProofsVerify(t, vault);
  const { succeeded, postponed } = report;
  t.log(
    `503: login ${postponed.login}, certify ${postponed.certify}; ` +
      `stored ${succeeded.store}; entries sealed so far: ${entries}`,
  );
}

/** Counts how often the app logged that sealing paused, and that it resumed. */
async function countBreaks({
  logFile,
}: VaultProcesses): Promise<{ readonly opened: number; readonly closed: number }> {
  const log = await readFile(logFile, 'utf8');
  const count = (message: string) => log.split(`"msg":"${message}"`).length - 1;
  return { opened: count('sealing pauses'), closed: count('sealing resumes') };
}

function untilSeen(what: string, isSeen: () => boolean | Promise<boolean>): Promise<boolean> {
  return until(isSeen, { what, timeoutMs: 60_000 });
}
