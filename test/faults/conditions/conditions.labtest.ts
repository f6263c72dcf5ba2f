import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { numberFrom, rounds, seed } from '../../support/runs/rounds.ts';
import { assertNoViolation, assertProofsVerify, query, untilSealed } from '../audit/audit-check.ts';
import { createRepeatedLogin } from '../vault/login.ts';
import { certifyRest, storeSteadily } from '../vault/steady-work.ts';
import { createAccount, logIn, type Account } from '../vault/user.ts';
import type { Condition } from './condition.ts';
import { conditions } from './conditions.ts';
import { observe } from './observer.ts';
import { startStage, type Stage } from './stage.ts';

const holdSeconds = numberFrom('HOLD_SECONDS', 12);
/** The conditions to impose unless CONDITION says otherwise. */
const few: ReadonlySet<string> = new Set([
  'standard output is a full disk',
  'the clock of the app is 600 s off',
  'the object store is full',
  'Postgres is frozen',
  'Postgres accepts no connection',
  'the PIN is wrong',
]);
/** Parts of the names of the conditions to impose, with commas between; all if it is empty. */
const parts = process.env['CONDITION']?.split(',');
const chosen = conditions.filter(({ name }) =>
  parts === undefined ? few.has(name) : parts.some((part) => name.includes(part)),
);

test('whatever is wrong around a vault, users are told so, and nothing is lost', async (t) => {
  t.timeout(300_000 + rounds * chosen.length * (holdSeconds + 120) * 1_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  await using stage = await startStage();
  const worker = await createAccount(stage.vault);
  const watcher = await createAccount(stage.vault);
  const guest = await createAccount(stage.vault);
  const problems: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const condition of chosen) {
      problems.push(...(await impose(t, stage, condition, { worker, watcher, guest })));
    }
  }
  t.deepEqual(problems, []);
  const entries = await untilSealed(stage.vault);
  await assertNoViolation(t, stage.vault);
  await assertProofsVerify(t, stage.vault);
  t.log(`${entries} entries, each sealed once`);
});

interface People {
  /** Stores and certifies files all the time, and tries again what fails. */
  readonly worker: Account;
  /** Asks without trying again. */
  readonly watcher: Account;
  /** Logs in again and again. */
  readonly guest: Account;
}

/** Imposes a condition for a while, and resolves with what was not as it should be. */
async function impose(
  t: ExecutionContext,
  stage: Stage,
  condition: Condition,
  { worker, watcher, guest }: People,
): Promise<string[]> {
  const { name, restarted, begin, end, health, alerts, refusals } = condition;
  const { vault } = stage;
  const user = await logIn(vault, worker);
  const token = await createRepeatedLogin(vault.baseUrl, watcher)();
  const stored: string[] = [];
  const stopping = new AbortController();
  t.teardown(() => stopping.abort());
  const work = storeSteadily(user, {
    fileBytes: 50_000,
    seed,
    stop: stopping.signal,
    onStored: (id) => stored.push(id),
  });
  // The wait below gets the error.
  work.catch(() => undefined);
  if (restarted !== undefined) await stage.restart(await restarted(stage));
  await untilWell(stage, `before ${name}`);
  const sealedBefore = await countSealed(stage);
  await begin(stage);
  const stopObserving = observe(stage, { token, guest });
  let remark: string | void;
  try {
    await delay(holdSeconds * 1_000);
  } finally {
    remark = await end(stage);
  }
  const { answers, slowestMs, health: said, alerts: raised } = await stopObserving();
  if (restarted !== undefined) await stage.restart();
  await untilWell(stage, `after ${name}`);
  const isWorking = until(async () => (await countSealed(stage)) > sealedBefore, {
    what: `work after ${name}`,
    timeoutMs: 60_000,
  });
  await Promise.race([isWorking, work]);
  stopping.abort();
  await work;
  await certifyRest(user);
  await untilSealed(vault);
  const lost = await findLost(stage, stored);

  const told = [...answers].map(([answer, count]) => `${count} x ${answer}`).join(', ');
  t.log(
    [
      `${name}: users ${told}, at most ${Math.round(slowestMs)} ms`,
      `health ${list(said)}`,
      `alerts ${list(raised)}`,
      `${lost.length} of ${stored.length} stored documents lost`,
      ...(remark === undefined ? [] : [remark]),
    ].join('; '),
  );
  await assertNoViolation(t, vault);
  const allowed = new Set(['200', '201', ...refusals]);
  const unexpected = [...answers.keys()].filter((answer) => !allowed.has(answer));
  return [
    ...unexpected.map((answer) => `users were told ${answer}`),
    ...health.filter((error) => !said.has(error)).map((error) => `health did not say ${error}`),
    ...alerts.filter((code) => !raised.has(code)).map((code) => `there was no alert ${code}`),
    ...lost.map((id) => `the document ${id} was lost`),
  ].map((problem) => `${name}: ${problem}`);
}

const list = (words: ReadonlySet<string>) => (words.size === 0 ? 'none' : [...words].join(', '));

async function untilWell({ vault }: Stage, when: string): Promise<void> {
  const isWell = async () => {
    const response = await fetch(`${vault.baseUrl}/health`);
    return ((await response.json()) as { readonly status: string }).status === 'ok';
  };
  await until(isWell, { what: `health ${when}`, timeoutMs: 60_000 });
}

/** Returns those of the documents that are not sealed. */
async function findLost({ vault }: Stage, documentIds: readonly string[]): Promise<string[]> {
  const sealed = new Set(
    (
      await query<{ readonly id: string }>(
        vault,
        "select document_id as id from document_versions where status = 'SEALED'",
      )
    ).map(({ id }) => id),
  );
  return documentIds.filter((id) => !sealed.has(id));
}

async function countSealed({ vault }: Stage): Promise<number> {
  const [row] = await query<{ readonly count: string }>(
    vault,
    "select count(*) from document_versions where status = 'SEALED'",
  );
  return Number(row?.count);
}
