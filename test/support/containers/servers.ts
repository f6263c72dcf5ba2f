import { randomUUID } from 'node:crypto';
import { createLogins, loadDatabasePasswords } from '../../../app/dev/postgres/database.ts';
import { commonSettings } from '../../../app/dev/postgres/server.ts';
import { until } from '../../../app/dev/processes/until.ts';
import type { Servers } from '../../../app/dev/stack/services.ts';
import {
  GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
} from 'testcontainers';
import { startReaper } from './reaper.ts';

/** The images of docker-compose.yml, by the same variables. */
const postgresImage = process.env['POSTGRES_IMAGE'] ?? 'postgres:18';
const valkeyImage = process.env['VALKEY_IMAGE'] ?? 'valkey/valkey:8.1';

/** The user of Postgres and of Valkey in their images. */
const user = '999:999';
const readyWithinMs = 60_000;

/**
 * Creates what starts Postgres and Valkey in containers. They go when they are stopped, and also
 * when this process is killed.
 */
export async function createContainerServers(): Promise<Servers & AsyncDisposable> {
  // The library's own reaper is one more image to pull.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  const run = randomUUID();
  const reaper = startReaper(run);

  return {
    async startPostgres({ layout, durable, signal }) {
      const passwords = await loadDatabasePasswords(layout.secrets);
      const passwordFile = '/etc/postgres-password';
      const container = await new GenericContainer(postgresImage)
        .withLabels(reaper.labels)
        .withUser(user)
        .withCommand(['postgres', ...commonSettings(durable)])
        .withEnvironment({
          POSTGRES_PASSWORD_FILE: passwordFile,
          POSTGRES_INITDB_ARGS: '--locale-provider=builtin --builtin-locale=C.UTF-8',
        })
        .withCopyContentToContainer([
          { content: passwords.adminPassword, target: passwordFile, mode: 0o444 },
        ])
        .withTmpFs({ '/var/lib/postgresql': 'uid=999,gid=999', '/var/run/postgresql': 'mode=1777' })
        .withExposedPorts(5432)
        .start();
      const access = { ...addressOf(container, 5432), ...passwords };
      // The server that makes the data of a first start listens nowhere.
      await until(
        () =>
          createLogins(access).then(
            () => true,
            () => false,
          ),
        {
          what: 'Postgres in its container',
          timeoutMs: readyWithinMs,
          signal,
        },
      );
      return { ...(await running(container)), access };
    },

    async startRedis() {
      const password = randomUUID();
      const file = '/etc/valkey.conf';
      const content = [
        `requirepass ${password}`,
        'maxmemory-policy noeviction',
        'save ""',
        'appendonly no',
      ].join('\n');
      const container = await new GenericContainer(valkeyImage)
        .withLabels(reaper.labels)
        .withUser(user)
        .withCommand(['valkey-server', file])
        .withCopyContentToContainer([{ content, target: file, mode: 0o444 }])
        .withTmpFs({ '/data': 'uid=999,gid=999' })
        .withExposedPorts(6379)
        .start();
      const { host, port } = addressOf(container, 6379);
      return { ...(await running(container)), url: `redis://:${password}@${host}:${port}` };
    },

    [Symbol.asyncDispose]: () => reaper.stop(),
  };
}

/** Returns where a port of a container is published. A loopback name may mean IPv6 as well. */
function addressOf(container: StartedTestContainer, port: number) {
  const host = container.getHost();
  return {
    host: host === 'localhost' ? '127.0.0.1' : host,
    port: container.getMappedPort(port),
  };
}

/** Describes a container as a process that is not restarted. */
async function running(container: StartedTestContainer) {
  const { container: containers } = await getContainerRuntimeClient();
  const { State: state } = await containers.inspect(containers.getById(container.getId()));
  return {
    pid: state.Pid,
    gaveUp: new Promise<string>(() => undefined),
    stop: async () => void (await container.stop()),
  };
}
