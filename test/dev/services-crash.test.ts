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

async function start(t: ExecutionContext, directory: string): Promise<Services> {
  const services = await startServices({ directory, durable: true, log: () => undefined });
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
      timeoutMs: 10_000,
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

test.serial('an unexpected end of Postgres is reported', async (t) => {
  const services = await start(t, await temporaryDirectory(t));

  services.postgres.kill('SIGINT');

  t.regex(await services.failed, /postgres ended by itself/);
});
