import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import { createDatabase, databaseUrls, dropDatabase } from '../../../app/dev/postgres/database.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { startChild } from '../../support/processes/child.ts';
import { processorMs } from '../../support/processes/process-figures.ts';
import { startVaultProcesses, type SingleVault } from '../../support/processes/vault-processes.ts';
import { median, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { createSender, type Ask } from '../harness/sender.ts';
import { insertPeople, withClient } from '../sync/people.ts';
import type { BareSettings } from './bare-server.ts';
import { meterPostgres } from './postgres-cost.ts';
import type { Sends } from './recorder.ts';
import { createReplays, replayHeader, type Exchange, type Replay } from './replay.ts';
import { createScenes, type Action, type Scene } from './scenes.ts';
import { issueToken } from './vault-token.ts';

const warmUps = 60;
const chunks = 5;
const perChunk = 40;
const actions = warmUps + chunks * perChunk;
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
  const [person] = await withClient(vault.databases.service, (client) => insertPeople(client, 1));
  if (person === undefined) throw new Error('a person should have been inserted');
  const { token, publicKey } = await issueToken(vault, auth, person);
  const headers = {
    authorization: `Bearer ${token}`,
    'x-device-id': person.deviceId,
    'x-schema-version': '1',
  };
  const scenes = await createScenes(vault, http.ask, headers);

  const toRecord = new Map<string, Action[]>();
  for (const [name, scene] of Object.entries(scenes)) {
    toRecord.set(name, await scene.prepare(actions));
    progress(`${name}: prepared`);
  }
  await delay(idleMs);
  const copy = `bench_${process.pid}`;
  await vault.app.stop();
  await createDatabase(stack.postgres, copy, new URL(vault.databases.app).pathname.slice(1));
  resources.defer(() => dropDatabase(stack.postgres, copy));
  await vault.app.start();

  const takeSends = () => readSends(vault, sendsFile);
  await takeSends();
  await delay(idleMs);
  const idle = new Set((await takeSends()).statements.map(({ text }) => text));
  const postgresMs = await meterPostgres(stack.postgres);
  const { app, service } = databaseUrls(stack.postgres, copy);
  const figures: Record<string, number> = {};
  const worst = { ours: 0, reference: 0, ratio: Number.POSITIVE_INFINITY };
  for (const [name, scene] of Object.entries(scenes)) {
    const exchanges = await exchange(scene, toRecord.get(name) ?? [], http.ask);
    await delay(settleMs);
    const replays = createReplays(exchanges, await takeSends(), (text) => idle.has(text));
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
    const own = (await scene.prepare(actions)).map((action) => () => action(http.ask));
    const others = Array.from(
      { length: actions },
      (_, index) => () => replay(replays, index * perAction, perAction, bareHttp.ask),
    );
    const costs = { ours: [] as number[], bare: [] as number[] };
    for (let chunk = 0; chunk <= chunks; chunk += 1) {
      const size = chunk === 0 ? warmUps : perChunk;
      const ours = await cost(own.splice(0, size), () => processorMs(vault.app.pid) + postgresMs());
      process.kill(vault.app.pid, 'SIGSTOP');
      const reference = await cost(
        others.splice(0, size),
        () => processorMs(bare.pid) + postgresMs(),
      );
      process.kill(vault.app.pid, 'SIGCONT');
      if (chunk === 0) continue;
      costs.ours.push(ours);
      costs.bare.push(reference);
    }
    bareHttp.close();
    const [ours, reference] = [median(costs.ours), median(costs.bare)];
    const ratio = round(reference / ours);
    progress(`${name}: ${round(ours, 2)} ms, bare ${round(reference, 2)} ms, ratio ${ratio}`);
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

/** Runs the actions one after the other. Returns the milliseconds that each cost. */
async function cost(works: readonly (() => Promise<void>)[], meterMs: () => number) {
  const before = meterMs();
  for (const work of works) await work();
  await delay(settleMs);
  return (meterMs() - before) / works.length;
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

/** Takes what the app has sent since the last call. */
async function readSends(vault: SingleVault, file: string): Promise<Sends> {
  process.kill(vault.app.pid, 'SIGUSR2');
  const bytes = await until(() => readFile(file).catch(() => undefined), {
    what: 'the record of what the app sent',
    timeoutMs: 60_000,
  });
  await rm(file);
  return deserialize(bytes) as Sends;
}
