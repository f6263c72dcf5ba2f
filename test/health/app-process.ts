import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createDatabase, databaseUrls, dropDatabase } from '../../app/dev/postgres/database.ts';
import { freePort } from '../../app/dev/processes/free-port.ts';
import { spawnGuarded, type GuardedProcess } from '../../app/dev/processes/guarded-process.ts';
import { inheritedEnvironment, nodeProcess } from '../../app/dev/processes/node-process.ts';
import { productionSettings } from '../support/vault/production.ts';
import { untilReady } from '../support/vault/vault.ts';
import { testStack } from '../support/vault/stack.ts';
import { withoutLimits } from '../support/vault/without-limits.ts';

/** The app as a separate process, as in a container. */
export interface AppProcess extends AsyncDisposable {
  readonly process: GuardedProcess;
  readonly baseUrl: string;
  readonly lines: readonly string[];
}

export async function startAppProcess(): Promise<AppProcess> {
  const { postgres, templateDatabase, redisUrl, signerSocketPath } = testStack();
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-app-'));
  const name = `app_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name, templateDatabase);
  const urls = databaseUrls(postgres, name);
  const port = await freePort();
  const lines: string[] = [];
  const spec = nodeProcess('app', ['app/main.ts'], {
    ...inheritedEnvironment(),
    ...productionSettings,
    LOG_LEVEL: 'info',
    PORT: String(port),
    DATABASE_URL: urls.app,
    DATABASE_SERVICE_URL: urls.service,
    REDIS_URL: redisUrl,
    STORAGE_DIRECTORY: path.join(directory, 'objects'),
    SIGNER_SOCKET_PATH: signerSocketPath,
    MAIL_DIRECTORY: directory,
    ...withoutLimits,
  });
  const process = await spawnGuarded(spec, { onLine: (line) => void lines.push(line) });
  const baseUrl = `http://127.0.0.1:${port}`;
  await untilReady(baseUrl);
  return {
    process,
    baseUrl,
    lines,
    async [Symbol.asyncDispose]() {
      await process.stop();
      await dropDatabase(postgres, name);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
