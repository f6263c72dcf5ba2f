import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { numberFrom, rounds, seed } from '../../support/runs/rounds.ts';
import { assertNoViolation, assertProofsVerify, query, untilSealed } from '../audit/audit-check.ts';
import { createRepeatedLogin } from '../vault/login.ts';
import { certifyRest, storeSteadily } from '../vault/steady-work.ts';
import { createAccount, logIn, type Account } from '../vault/user.ts';
import { conditions, type Condition } from './conditions.ts';
import { observe } from './observer.ts';
import { startStage, type Stage } from './stage.ts';

const holdSeconds = numberFrom('HOLD_SECONDS', 12);
const few = 'app is 600 s off,Postgres is frozen,accepts no connection,store is full';
/** Parts of the names of the conditions to impose, with commas between; all if it is empty. */
const only = (process.env['CONDITION'] ?? few).split(',');

test('whatever is wrong around a vault, users are told so, and nothing is lost', async (t) => {
  t.timeout(300_000 + rounds * conditions.length * (holdSeconds + 120) * 1_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  await using stage = await startStage();
  const worker = await createAccount(stage.vault);
  const watcher = await createAccount(stage.vault);
  for (let round = 0; round < rounds; round += 1) {
    for (const condition of conditions) {
      if (!only.some((part) => condition.name.includes(part))) continue;
      await impose(t, stage, condition, { worker, watcher });
    }
  }
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
}

async function impose(
  t: ExecutionContext,
  stage: Stage,
  { name, begin, end, health, alerts, refusals }: Condition,
  { worker, watcher }: People,
): Promise<void> {
  const { vault } = stage;
  const user = await logIn(vault, worker);
  const token = await createRepeatedLogin(vault.baseUrl, watcher)();
  const stopping = new AbortController();
  const work = storeSteadily(user, { fileBytes: 50_000, seed, stop: stopping.signal });
  const isWell = async () => {
    const response = await fetch(`${vault.baseUrl}/health`);
    return ((await response.json()) as { readonly status: string }).status === 'ok';
  };
  await until(isWell, { what: `health before ${name}`, timeoutMs: 30_000 });
  const sealedBefore = await countSealed(stage);
  await begin(stage);
  const stopObserving = observe(stage, token);
  try {
    await delay(holdSeconds * 1_000);
  } finally {
    await end(stage);
  }
  const { answers, slowestMs, health: said, alerts: raised } = await stopObserving();
  await until(isWell, { what: `health after ${name}`, timeoutMs: 60_000 });
  await until(async () => (await countSealed(stage)) > sealedBefore, {
    what: `work after ${name}`,
    timeoutMs: 60_000,
  });
  stopping.abort();
  await work;
  await certifyRest(user);

  const told = [...answers].map(([answer, count]) => `${count} x ${answer}`).join(', ');
  t.log(
    `${name}: users ${told}, at most ${Math.round(slowestMs)} ms; ` +
      `health ${[...said].join(', ')}; alerts ${[...raised].join(', ')}`,
  );
  const allowed = new Set(['200', '201', ...refusals]);
  t.deepEqual(
    [...answers.keys()].filter((answer) => !allowed.has(answer)),
    [],
    name,
  );
  for (const error of health) t.true(said.has(error), `${name}: health says ${error}`);
  for (const code of alerts) t.true(raised.has(code), `${name}: alert ${code}`);
}

async function countSealed({ vault }: Stage): Promise<number> {
  const [row] = await query<{ readonly count: string }>(
    vault,
    "select count(*) from document_versions where status = 'SEALED'",
  );
  return Number(row?.count);
}
