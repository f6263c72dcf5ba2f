import { freePort } from '../../../app/dev/processes/free-port.ts';
import { startChild, type Child } from '../../support/processes/child.ts';
import { processorMs } from '../../support/processes/process-figures.ts';
import { startVaultProcesses, type SingleVault } from '../../support/processes/vault-processes.ts';
import { acceptOfPrometheus } from '../../support/metrics/open-metrics.ts';
import { median, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { createSender } from '../harness/sender.ts';
import { createScenes, type Action } from '../requests/scenes.ts';
import { signIn } from '../requests/vault-token.ts';
import type { Received } from './receiver.ts';

const warmUps = 3;
const pairs = 20;
/** Seconds under load between two scrapes: the interval that most monitoring has. */
const scrapeSeconds = 15;
const concurrency = 8;
/** Requests of each kind in a round. Most requests of a vault read. */
const mix = { get: 120, list: 30, create: 25, certify: 25 } as const;
const auth = { issuer: 'https://vault.test', audience: 'probatio' };
const sampled = {
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: '0.1',
};

/** A vault under load. */
interface Loaded {
  /** Prepares a round and returns what runs it. */
  prepare(): Promise<() => Promise<Round>>;
}

interface Round {
  readonly perSecond: number;
  /** Processor milliseconds of the app for a request. */
  readonly processorMs: number;
}

/**
 * Measures requests a second of an app that is scraped and sends a tenth of its traces, against an
 * app without metrics and traces. The two take turns in short rounds, and `ratio` is the median of
 * the pairs: what else the machine does disturbs both.
 */
export const benchOverhead: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using receiver: Child<object, Received> = startChild('test/bench/overhead/receiver.ts');
  const { url } = await receiver.ask({});
  const tracing = { ...sampled, OTEL_EXPORTER_OTLP_ENDPOINT: url };
  const port = String(await freePort());
  const settings = { HTTP_PUBLIC_URL: auth.issuer, AUTH_AUDIENCE: auth.audience };
  await using observed = await startVaultProcesses(stack, {
    settings: { ...settings, ...tracing, METRICS_PORT: port },
    override: (process) => (process === 'signer' ? { settings: tracing } : {}),
  });
  await using plain = await startVaultProcesses(stack, { settings });
  const scrape = async (): Promise<void> => {
    const page = await fetch(`http://127.0.0.1:${port}/metrics`, {
      headers: { accept: acceptOfPrometheus },
    });
    if (!(await page.text()).endsWith('# EOF\n')) throw new Error('the scrape is no OpenMetrics');
  };
  const on = await load(observed, scrape);
  const off = await load(plain, async () => undefined);

  const rounds = { on: [] as Round[], off: [] as Round[] };
  for (let pair = 0; pair < warmUps + pairs; pair += 1) {
    const runs = { on: await on.prepare(), off: await off.prepare() };
    const order = pair % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const);
    const taken: Partial<Record<'on' | 'off', Round>> = {};
    for (const side of order) taken[side] = await runs[side]();
    if (taken.on === undefined || taken.off === undefined) throw new Error('a round is missing');
    progress(`round ${pair}: on ${show(taken.on)}, off ${show(taken.off)}`);
    if (pair < warmUps) continue;
    rounds.on.push(taken.on);
    rounds.off.push(taken.off);
  }
  const { bytes } = await receiver.ask({});
  if (bytes === 0) throw new Error('the receiver got no traces');
  const each = <T>(figure: (on: Round, off: Round) => T): T[] =>
    rounds.on.map((taken, index) => figure(taken, rounds.off[index] ?? taken));
  return {
    ours: round(median(rounds.on.map(({ perSecond }) => perSecond)), 0),
    reference: round(median(rounds.off.map(({ perSecond }) => perSecond)), 0),
    unit: 'requests/s',
    ratio: round(median(each((a, b) => a.perSecond / b.perSecond))),
    processorRatio: round(median(each((a, b) => b.processorMs / a.processorMs))),
    processorMs: round(median(rounds.on.map(({ processorMs: ms }) => ms))),
    referenceProcessorMs: round(median(rounds.off.map(({ processorMs: ms }) => ms))),
    traceMB: round(bytes / 1e6),
    rounds: pairs,
  };
};

function show({ perSecond, processorMs: ms }: Round): string {
  return `${round(perSecond, 0)}/s and ${round(ms, 2)} ms of the processor`;
}

/** Readies a vault, which is scraped while it is under load. */
async function load(vault: SingleVault, scrape: () => Promise<void>): Promise<Loaded> {
  const { ask } = createSender(vault.baseUrl);
  const { headers } = await signIn(vault, auth);
  const scenes = await createScenes(vault, ask, headers);
  let unscrapedSeconds = scrapeSeconds;
  return {
    async prepare() {
      const actions: { readonly at: number; readonly act: Action }[] = [];
      for (const [name, count] of Object.entries(mix)) {
        const made = (await scenes[name]?.prepare(count)) ?? [];
        // Spreads each kind evenly over the round.
        actions.push(...made.map((act, index) => ({ at: (index + 0.5) / count, act })));
      }
      const queue = actions.toSorted((a, b) => a.at - b.at).map(({ act }) => act);
      return async () => {
        const { length } = queue;
        const before = processorMs(vault.app.pid);
        const startedAt = performance.now();
        const worker = async (): Promise<void> => {
          for (let act = queue.shift(); act !== undefined; act = queue.shift()) await act(ask);
        };
        const isDue = unscrapedSeconds >= scrapeSeconds;
        if (isDue) unscrapedSeconds = 0;
        const scraped = isDue ? scrape() : undefined;
        await Promise.all([scraped, ...Array.from({ length: concurrency }, worker)]);
        const seconds = (performance.now() - startedAt) / 1_000;
        unscrapedSeconds += seconds;
        const spentMs = processorMs(vault.app.pid) - before;
        return { perSecond: length / seconds, processorMs: spentMs / length };
      };
    },
  };
}
