import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { projectFile } from '../../../app/dev/files/project.ts';
import { createDatabase, databaseUrls } from '../../../app/dev/postgres/database.ts';
import { startJobSystem, untilAllOver, type JobSystem } from '../../support/jobs/job-system.ts';
import { startOwnRedis, type OwnRedis } from '../../support/network/own-redis.ts';
import { startTcpProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import { numberFrom, rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import type { OwnPostgres } from '../vault/own-postgres.ts';
import { startOwnStack } from '../vault/own-stack.ts';
import { trialWork } from './trial-work.ts';

const random = seededRandom(seed);
const jobs = numberFrom('JOBS', 200);
const workerCount = 3;
/** Milliseconds for which a worker is paused, which is longer than its lease. */
const pauseMs = 20_000;

const between = (least: number, most: number) => least + random() * (most - least);

interface Scene {
  readonly redis: OwnRedis;
  readonly postgres: OwnPostgres;
  /** The way of all processes to Postgres. */
  readonly proxy: TcpProxy;
  readonly workers: ChildProcess[];
  readonly fork: () => Promise<ChildProcess>;
}

/** Faults by name; each is over when it resolves. */
const faults: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  async 'kill a worker'(scene) {
    await replace(scene, 'SIGKILL');
  },
  async 'stop a worker'(scene) {
    await replace(scene, 'SIGTERM');
  },
  async 'pause a worker beyond its lease'({ workers }) {
    const worker = pick(workers);
    worker.kill('SIGSTOP');
    await pause(pauseMs);
    worker.kill('SIGCONT');
  },
  async 'kill Redis, which keeps its data'({ redis }) {
    await redis.kill();
    await pause(between(0, 2_000));
    await redis.restart();
  },
  async 'kill Redis, which loses its data'({ redis }) {
    await redis.kill();
    await redis.loseData();
    await redis.restart();
  },
  async 'hang Redis'({ redis }) {
    redis.hang();
    await pause(between(500, 4_000));
    redis.resume();
  },
  async 'cut every connection to Postgres'({ proxy }) {
    await proxy.close();
    await pause(between(0, 3_000));
    await proxy.open();
  },
  async 'kill Postgres'({ postgres }) {
    await postgres.kill();
    await pause(between(0, 3_000));
    await postgres.start();
  },
};

function pick<T>(of: readonly T[]): T {
  return of[Math.floor(random() * of.length)] as T;
}

async function replace({ workers, fork }: Scene, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const index = Math.floor(random() * workers.length);
  const worker = workers[index];
  if (worker === undefined) return;
  const exited = once(worker, 'exit');
  worker.kill(signal);
  await exited;
  workers[index] = await fork();
}

async function startScene(t: ExecutionContext) {
  const redis = await startOwnRedis(t, { isDurable: true });
  const own = await startOwnStack();
  t.teardown(() => own[Symbol.asyncDispose]());
  const { postgres, stack } = own;
  const { access } = postgres;
  const proxy = await startTcpProxy(`http://${access.host}:${access.port}`);
  t.teardown(() => proxy.close());
  const proxied = { ...access, host: '127.0.0.1', port: Number(new URL(proxy.url).port) };
  const database = 'jobs';
  await createDatabase(access, database, stack.templateDatabase);
  const { app: url, service: serviceUrl } = databaseUrls(proxied, database);
  const vault = randomUUID();
  const urls = { url, serviceUrl, redisUrl: redis.url };
  const system = await startJobSystem({ ...urls, vault, types: [trialWork] });
  t.teardown(() => system.stop());
  const forkWorker = async () => {
    const file = projectFile('test/faults/jobs/worker-process.ts');
    const worker = fork(file, [url, serviceUrl, redis.url, vault], { stdio: 'ignore' });
    await once(worker, 'message');
    return worker;
  };
  const workers = await Promise.all(Array.from({ length: workerCount }, forkWorker));
  t.teardown(async () => {
    for (const worker of workers) worker.kill('SIGKILL');
  });
  return { system, scene: { redis, postgres, proxy, workers, fork: forkWorker } };
}

/** Submits jobs until `count` are accepted, and returns their ids. */
async function submitMany({ submit }: JobSystem, count: number): Promise<string[]> {
  const accepted: string[] = [];
  let left = count;
  const submitOne = async () => {
    while (left-- > 0) {
      const id = await submit('TRIAL').catch(() => undefined);
      if (id !== undefined) accepted.push(id);
      else {
        left += 1;
        await pause(100);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, submitOne));
  return accepted;
}

test('every job ends once, whatever is killed', async (t) => {
  t.timeout(600_000 + rounds * 60_000);
  t.log(`SEED=${seed} ROUNDS=${rounds} JOBS=${jobs}`);
  const { system, scene } = await startScene(t);
  // Each kind of fault comes at least once, and then by chance.
  const names = Object.keys(faults);
  const count = Math.max(rounds, names.length);
  const submitting: Promise<string[]>[] = [];
  for (let round = 0; round < count; round++) {
    submitting.push(submitMany(system, Math.ceil(jobs / count)));
    await pause(between(50, 700));
    const name = names[round] ?? pick(names);
    await faults[name]?.(scene);
  }
  const accepted = (await Promise.all(submitting)).flat();
  await untilAllOver(t, system.db, 300_000);
  const { rows, effects } = await system.db.asService(async (tx) => ({
    rows: await tx
      .selectFrom('jobs')
      .select(['id', 'state', 'error', 'result', 'attempts'])
      .execute(),
    effects: await tx.selectFrom('outbox').select('payload').execute(),
  }));
  const ids = new Set(rows.map(({ id }) => id));
  t.true(
    accepted.every((id) => ids.has(id)),
    'no accepted job is lost',
  );
  for (const { id, state, error, result } of rows) {
    if (state === 'COMPLETED') t.deepEqual(JSON.parse(result ?? ''), { id });
    else t.regex(error ?? '', /^(hopeless|away|worker_lost|time_limit_exceeded|\w+_unavailable)$/);
  }
  const completed = rows.filter(({ state }) => state === 'COMPLETED').map(({ id }) => id);
  const done = effects.map(({ payload }) => (JSON.parse(payload) as { key: string }).key);
  t.deepEqual(done.toSorted(), completed.toSorted(), 'each completed job has one effect');
  const repeated = rows.filter(({ attempts }) => attempts > 1).length;
  t.log(`${rows.length} jobs, ${completed.length} completed, ${repeated} in several attempts`);
});
