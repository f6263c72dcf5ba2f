import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { asAdmin } from '../../app/dev/postgres/database.ts';
import { startServices, type Services } from '../../app/dev/stack/services.ts';
import { until } from '../../app/dev/processes/until.ts';
import {
  isAlive,
  runProgram,
  untilLine,
  temporaryDirectory,
} from '../support/processes/processes.ts';
import type { ServicesReport } from './services-program.ts';
import { testSignerSettings } from '../support/vault/stack.ts';

async function start(
  t: ExecutionContext,
  directory: string,
  options: Partial<Parameters<typeof startServices>[0]> = {},
): Promise<Services> {
  const log = () => undefined;
  const services = await startServices({
    directory,
    signerSettings: testSignerSettings,
    durable: true,
    log,
    ...options,
  });
  t.teardown(() => services.stop());
  return services;
}

async function onRedis<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

test.serial(
  'every service stops after SIGKILL of the supervisor, and the next start finds the data',
  async (t) => {
    const directory = await temporaryDirectory(t);
    const supervisor = runProgram(t, ['test/dev/services-program.ts', directory]);
    const report = JSON.parse(await untilLine(supervisor, /^\{/)) as ServicesReport;
    t.true(report.pids.every(isAlive));
    await asAdmin(report.postgres, async (client) => {
      await client.query("CREATE TABLE kept AS SELECT 'in Postgres' AS place");
    });
    await onRedis(report.redisUrl, (redis) => redis.set('kept', 'in Redis'));

    supervisor.kill('SIGKILL');
    await until(() => !report.pids.some(isAlive), {
      what: 'the end of all services',
      timeoutMs: 60_000,
    });

    const services = await start(t, directory);
    const { rows } = await asAdmin(services.postgres.access, (client) =>
      client.query<{ readonly place: string }>('SELECT place FROM kept'),
    );
    t.is(rows[0]?.place, 'in Postgres');
    t.is(await onRedis(services.redis.url, (redis) => redis.get('kept')), 'in Redis');
  },
);

test.serial(
  'a start right after SIGKILL of the supervisor waits for the end of its processes',
  async (t) => {
    const directory = await temporaryDirectory(t);
    const supervisor = runProgram(t, ['test/dev/services-program.ts', directory]);
    const report = JSON.parse(await untilLine(supervisor, /^\{/)) as ServicesReport;

    supervisor.kill('SIGKILL');
    await start(t, directory);

    t.false(report.pids.some(isAlive));
  },
);

test.serial('a killed Postgres and Redis are restarted where they were, with data', async (t) => {
  const events: string[] = [];
  const services = await start(t, await temporaryDirectory(t), {
    log: (source, line) => events.push(`${source} ${line}`),
  });
  const { postgres, redis } = services;
  await asAdmin(postgres.access, (client) =>
    client.query("CREATE TABLE kept AS SELECT 'in Postgres' AS place"),
  );
  await onRedis(redis.url, (client) => client.set('kept', 'in Redis'));

  for (const { pid } of [postgres, redis]) process.kill(pid, 'SIGKILL');

  for (const name of ['postgres', 'redis']) {
    await until(() => events.includes(`${name} is running again`), {
      what: `the restart of ${name}`,
      timeoutMs: 60_000,
    });
    t.true(events.includes(`${name} ended by itself (SIGKILL); restarting in 250 ms`));
  }
  const { rows } = await asAdmin(postgres.access, (client) =>
    client.query<{ readonly place: string }>('SELECT place FROM kept'),
  );
  t.is(rows[0]?.place, 'in Postgres');
  t.is(await onRedis(redis.url, (client) => client.get('kept')), 'in Redis');
});

test.serial('a Postgres that cannot be restarted is reported after some attempts', async (t) => {
  const directory = await temporaryDirectory(t);
  const services = await start(t, directory, { mostRestarts: 1 });

  await rm(join(directory, 'postgres', 'PG_VERSION'));
  process.kill(services.postgres.pid, 'SIGKILL');

  const failure = await services.failed;
  t.regex(failure, /^postgres gave up after 1 restarts in a row: postgres ended before/);
  t.regex(failure, /PG_VERSION/, 'the message has the end of the log');
});
