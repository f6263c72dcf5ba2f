import { randomUUID } from 'node:crypto';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import {
  createDatabase,
  databaseUrls,
  dropDatabase,
  type DatabaseUrls,
} from '../../../app/dev/postgres/database.ts';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { temporaryDirectory } from '../processes/processes.ts';
import { productionSettings } from '../vault/production.ts';
import { testSignerSettings, type TestStack } from '../vault/stack.ts';
import { withoutLimits } from '../vault/without-limits.ts';
import { createVolume, startContainer, type Container } from './docker.ts';

const users = { app: 10_001, signer: 10_002 } as const;
const group = 10_000;

/** The app and the signer in containers, with a database of their own. */
export interface ContainerVault {
  readonly app: Container;
  readonly signer: Container;
  readonly baseUrl: string;
  readonly databases: DatabaseUrls;
  readonly mailDirectory: string;
}

/** Starts both images as an operator would, on the Postgres and Redis of the run. */
export async function startContainerVault(
  t: ExecutionContext,
  stack: TestStack,
): Promise<ContainerVault> {
  const database = `vault_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(stack.postgres, database, stack.templateDatabase);
  t.teardown(() => dropDatabase(stack.postgres, database));
  const databases = databaseUrls(stack.postgres, database);
  const socket = await createVolume(t);
  const signer = await startSigner(t, socket);
  const objects = await createVolume(t);
  const mailDirectory = await directoryOf(t, 'app');
  const port = await freePort();
  const app = await startContainer(t, 'app', {
    settings: {
      ...productionSettings,
      PORT: String(port),
      DATABASE_URL: databases.app,
      DATABASE_SERVICE_URL: databases.service,
      REDIS_URL: stack.redisUrl,
      STORAGE_DRIVER: 'filesystem',
      STORAGE_DIRECTORY: '/var/lib/probatio/objects',
      MAIL_DIRECTORY: '/mail',
      ...withoutLimits,
    },
    volumes: [
      `${socket}:/run/probatio`,
      `${objects}:/var/lib/probatio/objects`,
      `${mailDirectory}:/mail`,
    ],
  });
  return { app, signer, baseUrl: `http://127.0.0.1:${port}`, databases, mailDirectory };
}

/** Creates a token with its keys, by the image's own command, and starts a signer on it. */
async function startSigner(t: ExecutionContext, socket: string): Promise<Container> {
  const { settings, volumes } = await createTokenSettings(t);
  const initialised = await startContainer(t, 'signer', {
    settings: { ...settings, SIGNER_SO_PIN_FILE: '/run/secrets/so-pin' },
    volumes,
    command: ['node', 'signer/cli.ts', 'init'],
  });
  const code = await initialised.wait();
  if (code !== 0) throw new Error(await initialised.log());
  return startContainer(t, 'signer', {
    settings,
    volumes: [...volumes, `${socket}:/run/probatio`],
  });
}

/** Returns the settings and the volumes of a signer whose token does not exist yet. */
export async function createTokenSettings(t: ExecutionContext) {
  const tokens = await createVolume(t);
  const secrets = await directoryOf(t, 'signer');
  for (const name of ['pin', 'so-pin']) {
    await writeFile(join(secrets, name), randomUUID(), { mode: 0o400 });
    await chown(join(secrets, name), users.signer, group);
  }
  const settings = {
    ...testSignerSettings,
    SIGNER_TOKEN_LABEL: 'probatio',
    SIGNER_PIN_FILE: '/run/secrets/pin',
  };
  const volumes = [`${tokens}:/var/lib/probatio/tokens`, `${secrets}:/run/secrets:ro`];
  return { settings, volumes };
}

/** Creates a directory that only the user of an image may use. */
async function directoryOf(t: ExecutionContext, user: keyof typeof users): Promise<string> {
  const outer = await temporaryDirectory(t);
  await chmod(outer, 0o711);
  const directory = join(outer, 'shared');
  await mkdir(directory, { mode: 0o700 });
  await chown(directory, users[user], group);
  return directory;
}

/** Waits until the app is ready. Throws with its log if it is not in time. */
export async function untilAppReady(
  { app, baseUrl }: Pick<ContainerVault, 'app' | 'baseUrl'>,
  timeoutMs: number,
): Promise<void> {
  const isReady = () =>
    fetch(`${baseUrl}/health/ready`).then(
      async (response) => (await response.body?.cancel(), response.ok),
      () => false,
    );
  const what = 'the app to be ready';
  await until(isReady, { what, timeoutMs, intervalMs: 100 }).catch(async (error: unknown) => {
    throw new Error(await app.log(), { cause: error });
  });
}
