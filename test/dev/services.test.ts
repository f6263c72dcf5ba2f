import { createConnection } from 'node:net';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { asAdmin } from '../../app/dev/database.ts';
import { startServices, type Services } from '../../app/dev/services.ts';
import { until } from '../../app/dev/until.ts';
import { isAlive, runProgram, untilLine, temporaryDirectory } from './processes.ts';
import type { ServicesReport } from './services-program.ts';

async function start(
  t: ExecutionContext,
  directory: string,
  log: (source: string, line: string) => void = () => undefined,
): Promise<Services> {
  const services = await startServices({ directory, durable: true, log });
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

async function answers(socketPath: string): Promise<boolean> {
  const socket = createConnection(socketPath);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

test('SIGKILL of the supervisor stops every service, and the next start finds the data', async (t) => {
  const directory = await temporaryDirectory(t);
  const supervisor = runProgram(t, ['test/dev/services-program.ts', directory]);
  const report = JSON.parse(await untilLine(supervisor, /^\{/)) as ServicesReport;
  t.true(report.pids.every(isAlive));
  await asAdmin(report.postgres, async (client) => {
    await client.query("CREATE TABLE kept AS SELECT 'in Postgres' AS place");
  });
  await onRedis(report.redisUrl, async (redis) => {
    await redis.set('kept', 'in Redis');
    // Redis itself syncs once a second.
    await redis.call('WAITAOF', '1', '0', '5000').catch(() => undefined);
  });

  supervisor.kill('SIGKILL');
  await until(() => !report.pids.some(isAlive), { what: 'the end of all', timeoutMs: 10_000 });

  const services = await start(t, directory);
  const { rows } = await asAdmin(services.postgres.access, (client) =>
    client.query<{ place: string }>('SELECT place FROM kept'),
  );
  t.is(rows[0]?.place, 'in Postgres');
  t.is(await onRedis(services.redis.url, (redis) => redis.get('kept')), 'in Redis');
});

test('a next start that comes at once waits for what a killed supervisor left', async (t) => {
  const directory = await temporaryDirectory(t);
  const supervisor = runProgram(t, ['test/dev/services-program.ts', directory]);
  const report = JSON.parse(await untilLine(supervisor, /^\{/)) as ServicesReport;

  supervisor.kill('SIGKILL');
  await start(t, directory);

  t.false(report.pids.some(isAlive));
});

test('services stop in the order signer, Redis, Postgres', async (t) => {
  const directory = await temporaryDirectory(t);
  const stopped: string[] = [];
  const services = await start(t, directory, (source, line) => {
    if (line === 'stopped') stopped.push(source);
  });
  const pids = [services.postgres.pid, services.redis.pid, services.signer.pid];

  await services.stop();

  t.deepEqual(stopped, ['signer', 'redis', 'postgres']);
  t.false(pids.some(isAlive));
});

test('a signer that was killed is started again on the same socket', async (t) => {
  const services = await start(t, await temporaryDirectory(t));
  const killed = services.signer.pid;

  process.kill(killed, 'SIGKILL');

  await until(() => services.signer.pid !== killed, { what: 'a new signer', timeoutMs: 10_000 });
  t.true(await answers(services.signerSocketPath));
});

test('the end of Postgres is reported', async (t) => {
  const services = await start(t, await temporaryDirectory(t));

  services.postgres.kill('SIGINT');

  t.regex(await services.failed, /postgres ended by itself/);
});

test('secrets and data are closed to other users', async (t) => {
  const directory = await temporaryDirectory(t);
  const { layout } = await start(t, directory);
  for (const path of Object.values(layout)) t.is((await stat(path)).mode & 0o077, 0, path);
  for (const name of await readdir(layout.secrets)) {
    t.is((await stat(join(layout.secrets, name))).mode & 0o077, 0, name);
  }
});

test('the embedded Postgres logins are no superusers and do not bypass row-level security', async (t) => {
  const services = await start(t, await temporaryDirectory(t));
  const { rows } = await asAdmin(services.postgres.access, (client) =>
    client.query<{ rolname: string }>(
      `SELECT rolname FROM pg_roles WHERE rolname LIKE 'probatio%'
       AND NOT (rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole) ORDER BY rolname`,
    ),
  );
  t.deepEqual(
    rows.map(({ rolname }) => rolname),
    ['probatio_app', 'probatio_owner', 'probatio_service'],
  );
});
