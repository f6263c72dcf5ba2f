import { setTimeout as delay } from 'node:timers/promises';
import { processorMs } from '../../support/processes/process-figures.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import { percentile, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { createSender, type Ask } from '../harness/sender.ts';
import { createScenes, type Scene } from '../requests/scenes.ts';
import { signIn } from '../requests/vault-token.ts';

const processes = 4;
const rounds = 3;
const warmUps = 120;
const perRound = 80;
/** The greatest p95 with four processes, in multiples of that with one. */
const timesLimit = 1.5;
/** The greatest load of an idle process, in milliseconds of processor time a second. */
const idleLimit = 10;
const settleMs = 15_000;
const idleMs = 30_000;
const auth = { issuer: 'https://vault.test', audience: 'probatio' };

/**
 * Measures four processes of one vault against one: the p95 of `certify`, sent to each in turn, and
 * what an idle process takes. `ratio` is the lower of the limits over what was measured.
 */
export const benchReplicas: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using resources = new AsyncDisposableStack();
  await using vault = await startVaultProcesses(stack, {
    settings: { HTTP_PUBLIC_URL: auth.issuer, AUTH_AUDIENCE: auth.audience },
  });
  const http = createSender(vault.baseUrl);
  resources.defer(http.close);
  const { headers } = await signIn(vault, auth);

  async function timesOf(asks: readonly Ask[]): Promise<number[]> {
    let sent = 0;
    const ask: Ask = (message) => (asks[(sent += 1) % asks.length] ?? http.ask)(message);
    const { certify } = await createScenes(vault, ask, headers);
    if (certify === undefined) throw new Error('there is no scene for certify');
    return timesOfScene(certify, ask);
  }

  const times = { one: [] as number[], four: [] as number[] };
  const idle: number[] = [];
  for (let turn = 0; turn < rounds; turn += 1) {
    times.one.push(...(await timesOf([http.ask])));
    await using replicas = new AsyncDisposableStack();
    const asks = [http.ask];
    const pids = [vault.app.pid];
    while (asks.length < processes) {
      const replica = replicas.use(await vault.startReplica());
      const sender = createSender(replica.baseUrl);
      replicas.defer(sender.close);
      asks.push(sender.ask);
      pids.push(replica.pid);
    }
    times.four.push(...(await timesOf(asks)));
    const p95s = [times.one, times.four].map((values) => round(percentile(values, 0.95), 1));
    progress(`certify: p95 ${p95s[0]} ms with one process, ${p95s[1]} ms with four`);
    if (turn > 0) continue;
    idle.push(...(await idleLoads(pids)));
    progress(`idle: ${idle.map((load) => round(load, 1)).join(', ')} ms/s`);
  }
  const one = percentile(times.one, 0.95);
  const four = percentile(times.four, 0.95);
  const load = Math.max(...idle);
  return {
    ours: round(four, 1),
    reference: round(timesLimit * one, 1),
    unit: 'ms, p95 of certify',
    ratio: round(Math.min((timesLimit * one) / four, idleLimit / load)),
    times: round(four / one, 2),
    idleMsPerSecond: round(load, 1),
    processes,
    rounds,
  };
};

/** Returns the milliseconds of each action, sent one after the other. */
async function timesOfScene(scene: Scene, ask: Ask): Promise<number[]> {
  const times: number[] = [];
  for (const action of await scene.prepare(warmUps + perRound)) {
    const startedAt = performance.now();
    await action(ask);
    times.push(performance.now() - startedAt);
  }
  return times.slice(warmUps);
}

/** Returns the milliseconds of processor time a second of processes that get no requests. */
async function idleLoads(pids: readonly number[]): Promise<number[]> {
  await delay(settleMs);
  const before = pids.map(processorMs);
  await delay(idleMs);
  return pids.map((pid, index) => ((processorMs(pid) - (before[index] ?? 0)) * 1_000) / idleMs);
}
