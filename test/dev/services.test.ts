import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { asAdmin } from '../../app/dev/postgres/database.ts';
import { startServices, type Services } from '../../app/dev/stack/services.ts';
import { until } from '../../app/dev/processes/until.ts';
import { isAlive } from '../support/processes/processes.ts';
import { testSignerSettings } from '../support/vault/stack.ts';

const stopped: string[] = [];
let directory: string;
let services: Services;

test.before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'probatio-test-'));
  services = await startServices({
    directory,
    signerSettings: testSignerSettings,
    durable: true,
    log: (source, line) => {
      if (line === 'stopped') stopped.push(source);
    },
  });
});

test.after.always(async () => {
  await services.stop();
  await rm(directory, { recursive: true, force: true });
});

async function accepts(socketPath: string): Promise<boolean> {
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

test.serial('secrets and data are closed to other users', async (t) => {
  const { layout } = services;
  for (const path of Object.values(layout)) t.is((await stat(path)).mode & 0o077, 0, path);
  for (const name of await readdir(layout.secrets)) {
    t.is((await stat(join(layout.secrets, name))).mode & 0o077, 0, name);
  }
});

test.serial(
  'no login of the embedded Postgres is a superuser or bypasses row-level security',
  async (t) => {
    const { rows } = await asAdmin(services.postgres.access, (client) =>
      client.query<{ readonly rolname: string }>(
        `SELECT rolname FROM pg_roles WHERE rolname LIKE 'probatio%'
       AND NOT (rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole) ORDER BY rolname`,
      ),
    );
    t.deepEqual(
      rows.map(({ rolname }) => rolname),
      ['probatio_app', 'probatio_owner', 'probatio_service'],
    );
  },
);

test.serial('a killed signer is restarted on the same socket', async (t) => {
  const killed = services.signer.pid;

  process.kill(killed, 'SIGKILL');

  await until(() => services.signer.pid !== killed, { what: 'a new signer', timeoutMs: 60_000 });
  t.true(await accepts(services.signerSocketPath));
});

test.serial('the services stop in the order signer, Redis, Postgres', async (t) => {
  const pids = [services.postgres.pid, services.redis.pid, services.signer.pid];

  await services.stop();

  t.deepEqual(stopped, ['signer', 'redis', 'postgres']);
  t.false(pids.some(isAlive));
});
