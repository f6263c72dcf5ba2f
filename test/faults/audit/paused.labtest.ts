import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { defaultRetry, type RetryPolicy } from '../../../client/http/retry.ts';
import { testStack } from '../../support/vault/stack.ts';
import { createAnsweredActions } from './answered-actions.ts';
import { untilSealed } from './audit-check.ts';
import { rotateAuditKey } from './key-rotation.ts';
import { startLoad } from '../vault/load.ts';
import { assertLog } from './log-check.ts';
import { startReplicatedVault, type ReplicatedVault } from '../vault/replicated-vault.ts';
import { numberFrom, seed, seededRandom } from '../../support/runs/rounds.ts';
import { createAccount, logIn } from '../vault/user.ts';

const rounds = numberFrom('ROUNDS', 3);
/** Longer than the lease of a batch, and than Postgres keeps an idle transaction open. */
const pauseMs = 36_000;
const retry: RetryPolicy = { ...defaultRetry, attempts: 20, sleep: () => delay(100) };
const random = seededRandom(seed);

interface Victim {
  readonly name: string;
  readonly find: (vault: ReplicatedVault) => Promise<number> | number;
}

const victims: readonly Victim[] = [
  { name: 'an app', find: ({ otherApp }) => otherApp.pid },
  { name: 'the HSM process', find: ({ signer }) => findChild(signer.pid) },
  { name: 'the signer', find: ({ signer }) => signer.pid },
];

/**
 * Failures that are allowed: a part was down, or the action was done but its response came too
 * late.
 */
const expected = [
  /: The server could not be reached/,
  /: 503 /,
  /: 409 \w+_in_progress$/,
  /^certify: 409 document_sealed$/,
];

test('each action has one entry sealed by an active key, whatever is paused', async (t) => {
  t.timeout(120_000 + rounds * 120_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  await using vault = await startReplicatedVault(testStack());
  const account = await createAccount(vault);
  const answered = createAnsweredActions();
  const fetch = answered.watch(globalThis.fetch);
  for (let round = 0; round < rounds; round++) {
    const people = await Promise.all(
      vault.baseUrls.map((baseUrl) => logIn({ ...vault, baseUrl }, account, { fetch, retry })),
    );
    const loads = vault.baseUrls.map((baseUrl, index) =>
      startLoad(baseUrl, people.slice(index, index + 1), random),
    );
    const victim = victims[round % victims.length];
    if (victim === undefined) throw new Error('there is no victim to pause');
    try {
      await delay(2_000 + 1_000 * random());
      const pid = await victim.find(vault);
      process.kill(pid, 'SIGSTOP');
      // Goes to the app that is not paused.
      const changed = rotateAuditKey(vault, fetch);
      await delay(pauseMs);
      resume(pid);
      await changed;
      await delay(2_000);
    } finally {
      await Promise.all(loads.map((load) => load.stop()));
    }
    for (const { report } of loads) {
      for (const id of report.loginIds) answered.actions.add(`auth.login ${id}`);
      t.deepEqual(report.failures.filter(isUnexpected), [], victim.name);
    }
  }
  const entries = await untilSealed(vault);
  await assertLog(t, vault, answered, random);
  t.log(`${entries} entries, ${answered.actions.size} of them confirmed in responses`);
});

function isUnexpected(failure: string): boolean {
  return expected.every((pattern) => !pattern.test(failure));
}

/** Resumes a process, which may be gone: the signer kills an HSM process that does not respond. */
function resume(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns the process id of the signer's child. */
async function findChild(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}
