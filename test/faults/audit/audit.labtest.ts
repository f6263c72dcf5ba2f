import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { defaultRetry, type RetryPolicy } from '../../../client/http/retry.ts';
import { testStack } from '../../support/vault/stack.ts';
import { createAnsweredActions, type AnsweredActions } from './answered-actions.ts';
import { untilSealed } from './audit-check.ts';
import { rotateAuditKey } from './key-rotation.ts';
import { startLoad, type Load } from '../vault/load.ts';
import { assertLog } from './log-check.ts';
import { logInNewcomer } from '../vault/newcomer.ts';
import {
  startReplicatedVault,
  untilAppsReady,
  type Part,
  type ReplicatedVault,
} from '../vault/replicated-vault.ts';
import { numberFrom, seed, seededRandom } from '../../support/runs/rounds.ts';
import { createAccount, logIn, type Account } from '../vault/user.ts';

const rounds = numberFrom('ROUNDS', 4);
/** Rounds per login: a login must end well within the life of its access token. */
const roundsOfLoad = 10;
const roundsOfKey = 2;
const users = 2;
/** Retries often and without a long wait, as nobody waits for the lease of a dead process. */
const retry: RetryPolicy = { ...defaultRetry, attempts: 20, sleep: () => delay(100) };
const random = seededRandom(seed);

test('each action has one entry sealed by an active key, whatever is killed', async (t) => {
  t.timeout(120_000 + rounds * 60_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  await using vault = await startReplicatedVault(testStack());
  const accounts = await Promise.all(Array.from({ length: users }, () => createAccount(vault)));
  const answered = createAnsweredActions();
  const kills = new Map<string, number>();
  for (let done = 0; done < rounds; done += roundsOfLoad) {
    const loads = await startLoads(vault, accounts, answered);
    try {
      const end = Math.min(rounds, done + roundsOfLoad);
      for (let round = done; round < end; round++) await killParts(vault, answered, round, kills);
    } finally {
      await Promise.all(loads.map((load) => load.stop()));
    }
    for (const { report } of loads) {
      for (const id of report.loginIds) answered.actions.add(`auth.login ${id}`);
      t.deepEqual(report.failures.filter(isUnexpected), []);
    }
  }
  t.log(`killed: ${list(kills)}`);

  const entries = await untilSealed(vault);
  await assertLog(t, vault, answered, random);
  t.true(answered.actions.size > rounds);
  t.log(`${entries} entries, ${answered.actions.size} of them confirmed in responses`);
});

/**
 * Starts one load per app. Half of the people log in at each app; all other requests go to either.
 */
async function startLoads(
  vault: ReplicatedVault,
  accounts: readonly Account[],
  answered: AnsweredActions,
): Promise<Load[]> {
  const fetch = answered.watch(spread(vault));
  const people = await Promise.all(
    accounts.map((account) => logIn(vault, account, { fetch, retry })),
  );
  return vault.baseUrls.map((baseUrl, index) =>
    startLoad(
      baseUrl,
      people.filter((_, number) => number % vault.baseUrls.length === index),
      random,
    ),
  );
}

/**
 * Kills one or two parts under load and restarts them. Meanwhile a new user stores an envelope and,
 * in some rounds, the audit key is rotated.
 */
async function killParts(
  vault: ReplicatedVault,
  answered: AnsweredActions,
  round: number,
  kills: Map<string, number>,
): Promise<void> {
  const fetch = answered.watch(spread(vault));
  const newcomer = await logInNewcomer(vault, fetch);
  const victims = pickVictims(vault.parts);
  for (const { name } of victims) kills.set(name, (kills.get(name) ?? 0) + 1);
  await delay(1_000 * random());
  const changes = Promise.all([
    delay(200 * random()).then(() => newcomer.createEnvelope()),
    round % roundsOfKey === 0 && rotateAuditKey(vault, fetch),
  ]);
  await Promise.all(victims.map(({ kill }) => delay(300 * random()).then(kill)));
  await delay(1_000 * random());
  for (const { start } of victims) await start();
  await changes;
  await untilAppsReady(vault);
}

/** Picks one or two parts, in the order in which they must be restarted. */
function pickVictims(parts: readonly Part[]): Part[] {
  const pick = () => parts.at(random() * parts.length);
  const picked = new Set(random() < 0.5 ? [pick()] : [pick(), pick()]);
  return parts.filter((part) => picked.has(part));
}

/** Returns a fetch that sends each request to a random app. */
function spread({ baseUrls }: ReplicatedVault): typeof globalThis.fetch {
  return (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    return fetch(new URL(pathname + search, baseUrls.at(random() * baseUrls.length)), init);
  };
}

/**
 * Failures that are allowed: a part was down, a dead process held the work, or the action was done
 * but its response was lost.
 */
const expected = [
  /: The server could not be reached/,
  /: 503 /,
  /: 409 \w+_in_progress$/,
  /^certify: 409 document_sealed$/,
];

function isUnexpected(failure: string): boolean {
  return expected.every((pattern) => !pattern.test(failure));
}

function list(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
}
