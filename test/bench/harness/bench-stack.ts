import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../../../app/dev/postgres/database.ts';
import { migrate } from '../../../app/dev/postgres/migrate.ts';
import { startServices } from '../../../app/dev/stack/services.ts';
import { type TestStack, testSignerSettings } from '../../support/vault/stack.ts';

const templateName = 'probatio_template';

/** Starts the services with production durability: committed writes survive a crash. */
export async function startBenchStack(): Promise<TestStack & AsyncDisposable> {
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-bench-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const services = await startServices({
    directory,
    signerSettings: testSignerSettings,
    durable: true,
    log: () => undefined,
  });
  resources.defer(() => services.stop());
  await createDatabase(services.postgres.access, templateName);
  await migrate(services.postgres.access, templateName);
  const running = resources.move();
  return {
    postgres: services.postgres.access,
    templateDatabase: templateName,
    redisUrl: services.redis.url,
    signerSocketPath: services.signerSocketPath,
    identityProviderUrl: services.identityProviderUrl,
    signerEnvironment: services.signerEnvironment,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
