import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  databaseName,
  defaultVariables,
  fixedVariables,
  localUrl,
  type Listen,
} from './app-environment.ts';
import { startApp } from './app.ts';
import { createDatabase, databaseUrls } from '../postgres/database.ts';
import { writeEnvironmentFile } from '../files/environment-file.ts';
import { assertPortFree } from '../processes/free-port.ts';
import { ensureInternalKey, internalKeyFiles } from './internal-key.ts';
import { acquireLock, type Lock } from '../processes/lock.ts';
import { migrate } from '../postgres/migrate.ts';
import { keepRunning } from '../processes/restarting-process.ts';
import { startServices, type Services } from './services.ts';

/** Longer than the app's own drain takes. */
const appGraceMs = 60_000;

interface StackOptions {
  /** Where the data goes; made if missing. */
  readonly directory: string;
  readonly listen: Listen;
  readonly log: (source: string, line: string) => void;
  /** Called once everything is up. */
  readonly onReady: (services: Services) => void;
  /** Ends the stack. */
  readonly signal: AbortSignal;
}

/**
 * Runs the whole stack until `signal` aborts, and stops it in order: app, signer, Redis, Postgres.
 * Throws when something does not start, or Postgres or Redis ends by itself; then too, nothing stays
 * behind.
 */
export async function runStack(options: StackOptions): Promise<void> {
  const { directory, listen, log, onReady, signal } = options;
  const lock = await lockDirectory(directory);
  try {
    await assertPortFree(listen.host, listen.port);
    await using running = new AsyncDisposableStack();

    const services = await startServices({ directory, durable: true, log, signal });
    running.defer(() => services.stop());
    await prepareDatabase(services, directory, listen, signal);
    await ensureInternalKey(internalKeyFiles(services.layout));

    const app = await keepRunning(
      (signal) => startApp(services, listen, (line) => log('app', line), signal),
      (event) => log('app', event),
      signal,
    );
    running.defer(async () => {
      await app.stop({ graceMs: appGraceMs });
      log('app', 'stopped');
    });

    onReady(services);
    const failure = await Promise.race([services.failed, aborted(signal)]);
    if (failure) {
      log('stack', `${failure}, see ${services.layout.log}: stopping everything`);
      throw new Error(failure);
    }
  } finally {
    lock.release();
  }
}

/** Taken before the port is looked at, so that a second start names the true reason. */
async function lockDirectory(directory: string): Promise<Lock> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const lock = acquireLock(join(directory, 'lock'));
  if (!lock) throw new Error(`already running on ${directory}: stop the other one first`);
  return lock;
}

async function prepareDatabase(
  services: Services,
  directory: string,
  listen: Listen,
  signal: AbortSignal,
): Promise<void> {
  await createDatabase(services.postgres.access, databaseName);
  await migrate(services.postgres.access, databaseName, signal);
  await writeEnvironmentFile(join(directory, 'environment'), {
    ...defaultVariables(services, listen),
    ...fixedVariables(services, listen),
    DATABASE_OWNER_URL: databaseUrls(services.postgres.access, databaseName).owner,
    ...services.signerEnvironment,
    MAINTENANCE_URL: localUrl(listen),
    INTERNAL_API_KEY_FILE: internalKeyFiles(services.layout).key,
  });
}

async function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
