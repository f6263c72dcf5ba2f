import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { projectFile } from '../../../app/dev/files/project.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { processorMs } from '../../support/processes/process-figures.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';
import { median, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { createSender } from '../harness/sender.ts';
import { startChild } from '../../support/processes/child.ts';
import type { CostQuestion } from './costs.ts';
import type { EventLoopReport } from './event-loop-probe.ts';
import { createLoginSender } from './login-sender.ts';
import { runAtFullRate, runAtRate } from './rates.ts';

const rounds = 7;
const perRound = { times: 400, concurrency: 16 };
const halfRateSeconds = 10;
/**
 * Milliseconds until the last entries are sealed after the last response; sealing counts as cost.
 */
const sealingMs = 500;

/**
 * Measures the processor milliseconds of app and signer per login, against the three modular
 * exponentiations and the RS256 signature it contains. Also measures the login rate, the event loop
 * at half that rate, and the SRP part against npm's packages.
 */
export const benchLogin: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-bench-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const reportFile = join(directory, 'event-loop.json');
  await using vault = await startVaultProcesses(stack, {
    nodeArguments: ['--import', projectFile('test/bench/login/event-loop-probe.ts')],
    settings: { EVENT_LOOP_REPORT: reportFile },
  });
  await using costs = startChild<CostQuestion, number>(
    'test/bench/login/costs.ts',
    stack.signerEnvironment,
  );
  const http = createSender(vault.baseUrl);
  resources.defer(http.close);
  const sender = await createLoginSender(vault, http.ask);

  await runAtFullRate(() => sender.login(), perRound);
  const found = { ours: [], reference: [], rate: [] } as Record<string, number[]>;
  for (let turn = 1; turn <= rounds; turn++) {
    const before = costOf(vault);
    const rate = await runAtFullRate(() => sender.login(), perRound);
    await delay(sealingMs);
    const ours = (costOf(vault) - before) / perRound.times;
    const reference = await costs.ask({ of: 'reference', times: perRound.times });
    progress(
      `round ${turn}: ours ${round(ours)} ms, reference ${round(reference)} ms, ` +
        `${round(rate, 0)}/s`,
    );
    found['ours']?.push(ours);
    found['reference']?.push(reference);
    found['rate']?.push(rate);
  }

  const rate = median(found['rate'] ?? []);
  await readEventLoop(vault, reportFile);
  await runAtRate(() => sender.login(), { perSecond: rate / 2, seconds: halfRateSeconds });
  const eventLoop = await readEventLoop(vault, reportFile);
  progress(`event loop at ${round(rate / 2, 0)}/s: ${JSON.stringify(eventLoop)}`);

  const srp = await costs.ask({ of: 'ownSrp', times: 200 });
  const secureRemotePassword = await costs.ask({ of: 'secureRemotePassword', times: 50 });
  const tssrp6a = await costs.ask({ of: 'tssrp6a', times: 100 });

  const ours = median(found['ours'] ?? []);
  const reference = median(found['reference'] ?? []);
  return {
    ours: round(ours),
    reference: round(reference),
    unit: 'CPU-ms/login',
    ratio: round(reference / ours),
    loginsPerSecond: round(rate, 1),
    eventLoopP99Ms: round(eventLoop.p99, 1),
    eventLoopMaxMs: round(eventLoop.max, 1),
    srpMs: round(srp),
    secureRemotePasswordMs: round(secureRemotePassword),
    tssrp6aMs: round(tssrp6a),
    vsSecureRemotePassword: round(secureRemotePassword / srp),
    vsTssrp6a: round(tssrp6a / srp),
    rounds,
  };
};

function costOf({ app, signer }: VaultProcesses): number {
  return processorMs(app.pid) + processorMs(signer.pid);
}

/** Reads how late the event loop was since the previous reading. */
async function readEventLoop({ app }: VaultProcesses, file: string): Promise<EventLoopReport> {
  process.kill(app.pid, 'SIGUSR2');
  const text = await until(() => readFile(file, 'utf8').catch(() => undefined), {
    what: 'the event loop report',
    timeoutMs: 60_000,
  });
  await rm(file);
  return JSON.parse(text) as EventLoopReport;
}
