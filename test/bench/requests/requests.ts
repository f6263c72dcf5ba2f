import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import { createDatabase, databaseUrls, dropDatabase } from '../../../app/dev/postgres/database.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { startChild } from '../../support/processes/child.ts';
import { processorMs } from '../../support/processes/process-figures.ts';
import { startVaultProcesses, type SingleVault } from '../../support/processes/vault-processes.ts';
import { median, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { createSender, type Ask } from '../harness/sender.ts';
import type { BareSettings } from './bare-server.ts';
import { meterPostgres } from './postgres-cost.ts';
import type { Sends } from './recorder.ts';
import { createReplays, replayHeader, type Exchange, type Replay } from './replay.ts';
import { createScenes, type Action, type Scene } from './scenes.ts';
import { signIn } from './vault-token.ts';

/** The kinds of requests to measure; undefined for all. */
const chosen = process.env['SCENES']?.split(',');
const chunks = 5;
/** Chunks of actions that warm up the processes, and are not measured. */
const warmUpChunks = 2;
/** Milliseconds in which the app seals what the last requests appended. */
const settleMs = 500;
/** Milliseconds in which every worker of an idle app has polled. */
const idleMs = 8_000;
const auth = { issuer: 'https://vault.test', audience: 'probatio' };

/**
 * Measures the processor milliseconds of app and Postgres for each kind of request, against bare
 * Koa that sends the same statements, prepared and pipelined, and does the same token checks,
 * powers, hashes, signatures and writes. The statements are recorded while the app serves, and
 * sent again to a copy of the database from before. `ratio` is that of the worst kind.
 */
export const benchRequests: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-bench-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const sendsFile = join(directory, 'sends');
  await using vault = await startVaultProcesses(stack, {
    nodeArguments: ['--import', projectFile('test/bench/requests/recorder.ts')],
    settings: {
      HTTP_PUBLIC_URL: auth.issuer,
      AUTH_AUDIENCE: auth.audience,
      AUDIT_BACKLOG_LIMIT: '100000000',
      RECORDED_SENDS: sendsFile,
    },
  });
  const http = createSender(vault.baseUrl);
  resources.defer(http.close);
  const { headers, publicKey } = await signIn(vault, auth);
  const scenes = Object.entries(await createScenes(vault, http.ask, headers)).filter(
    ([name]) => chosen === undefined || chosen.includes(name),
  );
  if (scenes.length === 0) throw new Error('SCENES names no kind of request');

  const toRecord = new Map<string, Action[]>();
  for (const [name, scene] of scenes) {
    toRecord.set(name, await scene.prepare(countActions(scene)));
    progress(`${name}: prepared`);
  }
  await delay(idleMs);
  const copy = `bench_${process.pid}`;
  await vault.app.stop();
  await createDatabase(stack.postgres, copy, new URL(vault.databases.app).pathname.slice(1));
  resources.defer(() => dropDatabase(stack.postgres, copy));
  await vault.app.start();

  const toggleRecorder = () => readSends(vault, sendsFile);
  await toggleRecorder();
  await delay(idleMs);
  const idle = new Set((await toggleRecorder()).statements.map(({ text }) => text));
  const postgresMs = await meterPostgres(stack.postgres);
  const { app, service } = databaseUrls(stack.postgres, copy);
  const figures: Record<string, number> = {};
  const worst = { ours: 0, reference: 0, ratio: Number.POSITIVE_INFINITY };
  for (const [name, scene] of scenes) {
    await toggleRecorder();
    const exchanges = await exchange(scene, toRecord.get(name) ?? [], http.ask);
    await delay(settleMs);
    const replays = createReplays(exchanges, await toggleRecorder(), (text) => idle.has(text));
    const file = join(directory, name);
    await writeFile(file, serialize(replays));
    await using bare = startChild<BareSettings, string>('test/bench/requests/bare-server.ts');
    const bareHttp = createSender(
      await bare.ask({
        replays: file,
        urls: { probatio_app: app, probatio_service: service },
        signerSocketPath: vault.signerSocketPath,
        tokenKey: publicKey,
        audience: auth.audience,
        directory,
      }),
    );
    const perAction = scene.powers.length;
    const actions = countActions(scene);
    const own = (await scene.prepare(actions)).map((action) => () => action(http.ask));
    const others = Array.from(
      { length: actions },
      (_, index) => () => replay(replays, index * perAction, perAction, bareHttp.ask),
    );
    const costs = { ours: [] as Cost[], bare: [] as Cost[] };
    const meter = (pid: number) => () => ({
      processMs: processorMs(pid),
      postgresMs: postgresMs(),
    });
    for (let chunk = 0; chunk <= chunks; chunk += 1) {
      const size = chunk === 0 ? scene.perChunk * warmUpChunks : scene.perChunk;
      const ours = await cost(own.splice(0, size), meter(vault.app.pid));
      process.kill(vault.app.pid, 'SIGSTOP');
      const reference = await cost(others.splice(0, size), meter(bare.pid));
      process.kill(vault.app.pid, 'SIGCONT');
      if (chunk === 0) continue;
      costs.ours.push(ours);
      costs.bare.push(reference);
    }
    bareHttp.close();
    await assertSealed(databaseUrls(stack.postgres, copy).admin, actions);
    const [ours, reference] = [median(costs.ours.map(total)), median(costs.bare.map(total))];
    const ratio = round(reference / ours);
    progress(`${name}: ${describe(costs.ours)}, bare ${describe(costs.bare)}, ratio ${ratio}`);
    figures[name] = ratio;
    figures[`${name}Ms`] = round(ours, 2);
    if (ratio < worst.ratio) Object.assign(worst, { ours, reference, ratio });
  }
  return {
    ours: round(worst.ours),
    reference: round(worst.reference),
    unit: 'CPU-ms/request',
    ratio: worst.ratio,
    ...figures,
    rounds: chunks,
  };
};

const countActions = ({ perChunk }: Scene): number => (warmUpChunks + chunks) * perChunk;

/** Processor milliseconds of an action, in the process that serves it and in Postgres. */
interface Cost {
  readonly processMs: number;
  readonly postgresMs: number;
}

const total = ({ processMs, postgresMs }: Cost): number => processMs + postgresMs;

function describe(costs: readonly Cost[]): string {
  const ofProcess = median(costs.map(({ processMs }) => processMs));
  const ofPostgres = median(costs.map(({ postgresMs }) => postgresMs));
  return `${round(ofProcess, 2)} + ${round(ofPostgres, 2)} ms`;
}

/** Runs the actions one after the other. Returns what each cost. */
async function cost(works: readonly (() => Promise<void>)[], meter: () => Cost): Promise<Cost> {
  const before = meter();
  for (const work of works) await work();
  await delay(settleMs);
  const after = meter();
  return {
    processMs: (after.processMs - before.processMs) / works.length,
    postgresMs: (after.postgresMs - before.postgresMs) / works.length,
  };
}

/** Runs the actions one after the other and returns what they sent. */
async function exchange(
  { powers }: Scene,
  recorded: readonly Action[],
  ask: Ask,
): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  for (const action of recorded) {
    let sent = 0;
    await action(async (message) => {
      const at = performance.timeOrigin + performance.now();
      const answer = await ask(message);
      exchanges.push({ at, message, answer, powers: powers[sent++] ?? 0 });
      return answer;
    });
  }
  return exchanges;
}

/** Sends the messages of one action to the bare server. */
async function replay(
  replays: readonly Replay[],
  from: number,
  count: number,
  ask: Ask,
): Promise<void> {
  for (let index = from; index < from + count; index += 1) {
    const { message } = replays[index] as Replay;
    await ask({ ...message, headers: { ...message.headers, [replayHeader]: String(index) } });
  }
}

/**
 * Throws unless the bare server sealed what it appended, as the app did. A few entries may wait: a
 * batch can hold one whose transaction began after that of the batch, and is replayed after it.
 */
async function assertSealed(adminUrl: string, actions: number): Promise<void> {
  const client = await connectAs(adminUrl);
  const { rowCount } = await client.query('select from audit_queue');
  await client.end();
  if (Number(rowCount) > actions / 50) {
    throw new Error(`${rowCount} entries of the copy are not sealed`);
  }
}

/** Begins to record what the app sends, or ends it. Returns what was recorded. */
async function readSends(vault: SingleVault, file: string): Promise<Sends> {
  process.kill(vault.app.pid, 'SIGUSR2');
  const bytes = await until(() => readFile(file).catch(() => undefined), {
    what: 'the record of what the app sent',
    timeoutMs: 60_000,
  });
  await rm(file);
  return deserialize(bytes) as Sends;
}
