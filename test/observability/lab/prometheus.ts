import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { spawnGuarded } from '../../../app/dev/processes/guarded-process.ts';
import { untilReady } from '../../../app/dev/processes/ready.ts';

interface PrometheusOptions {
  /** Ports on this machine, by the names of their jobs. */
  readonly targets: Readonly<Record<string, number>>;
  readonly namespace: string;
  /** The text of a file of rules. */
  readonly rules: string;
}

export interface Prometheus extends AsyncDisposable {
  /** Asks an instant query and resolves with its series. */
  query(expr: string): Promise<readonly Sample[]>;
  /** Resolves with the labels of the exemplars of the last hour. */
  exemplars(selector: string): Promise<readonly Readonly<Record<string, string>>[]>;
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const Labels = z.record(z.string(), z.string());
const QueryAnswer = z.object({
  data: z.object({
    result: z.array(
      z
        .object({ metric: Labels, value: z.tuple([z.number(), z.string()]) })
        .transform(({ metric, value }): Sample => ({ labels: metric, value: Number(value[1]) })),
    ),
  }),
});
const ExemplarAnswer = z.object({
  data: z.array(z.object({ exemplars: z.array(z.object({ labels: Labels })) })),
});

/** Starts a Prometheus that scrapes and evaluates its rules every half second. */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const { targets, namespace, rules } = options;
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-prometheus-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const inside = (name: string) => join(directory, name);
  await writeFile(inside('rules.yaml'), rules);
  const scrape = Object.entries(targets).map(([job, port]) => ({
    job_name: job,
    static_configs: [{ targets: [`127.0.0.1:${port}`], labels: { namespace } }],
  }));
  const config = {
    global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
    rule_files: ['rules.yaml'],
    scrape_configs: scrape,
  };
  await writeFile(inside('prometheus.yml'), stringify(config));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const logFile = inside('log');
  const server = await spawnGuarded(
    {
      name: 'prometheus',
      command: 'prometheus',
      args: [
        `--config.file=${inside('prometheus.yml')}`,
        `--storage.tsdb.path=${inside('data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--enable-feature=exemplar-storage',
      ],
      cwd: directory,
      env: { PATH: process.env['PATH'] ?? '' },
      stopSignal: 'SIGTERM',
    },
    { file: logFile },
  );
  resources.defer(async () => void (await server.stop()));
  const isReady = async () => {
    const { ok, status } = await fetch(`${url}/-/ready`);
    if (!ok) throw new Error(`not ready: ${status}`);
  };
  await untilReady(server, isReady, { timeoutMs: 60_000, logFile });

  const ask = async (path: string, parameters: Record<string, string>): Promise<unknown> => {
    const body = new URLSearchParams(parameters);
    const response = await fetch(`${url}/api/v1/${path}`, { method: 'POST', body });
    const text = await response.text();
    if (!response.ok) throw new Error(`Prometheus answered ${response.status}: ${text}`);
    return JSON.parse(text);
  };
  const running = resources.move();
  return {
    query: async (expr) => QueryAnswer.parse(await ask('query', { query: expr })).data.result,
    async exemplars(selector) {
      const end = Date.now() / 1_000;
      const range = { start: String(end - 3_600), end: String(end) };
      const answer = await ask('query_exemplars', { query: selector, ...range });
      return ExemplarAnswer.parse(answer).data.flatMap(({ exemplars }) =>
        exemplars.map(({ labels }) => labels),
      );
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
