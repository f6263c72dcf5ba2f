import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServices } from '../../../app/dev/stack/services.ts';
import { createTemplateDatabase } from '../../support/runs/template-database.ts';
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
  await createTemplateDatabase(services.postgres.access, templateName);
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
