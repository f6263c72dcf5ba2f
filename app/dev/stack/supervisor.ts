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

/** Milliseconds after which a stopping app is killed; longer than the app takes to drain. */
const appGraceMs = 60_000;

interface StackOptions {
  /** The directory of the data, created if missing. */
  readonly directory: string;
  readonly listen: Listen;
  readonly log: (source: string, line: string) => void;
  /** Called once the app and all services are ready. */
  readonly onReady: (services: Services) => void;
  /** Aborting this signal stops the stack. */
  readonly signal: AbortSignal;
}

/**
 * Runs the app and its services until `signal` aborts, then stops them in order: app, signer,
 * Redis, Postgres. Restarts what ends unexpectedly meanwhile. If the app or a service fails to
 * start, or if Postgres or Redis keeps ending, stops everything else too and throws.
 */
export async function runStack(options: StackOptions): Promise<void> {
  const { directory, listen, log, onReady, signal } = options;
  const lock = await lockDirectory(directory);
  try {
    await assertPortFree(listen.host, listen.port);
    await using running = new AsyncDisposableStack();

    const services = await startServices({
      directory,
      signerSettings: { SIGNER_ISSUERS: localUrl(listen) },
      durable: true,
      log,
      signal,
    });
    running.defer(() => services.stop());
    await prepareDatabase(services, directory, listen, signal);
    await ensureInternalKey(internalKeyFiles(services.layout));

    const app = await keepRunning({
      start: (signal) => startApp(services, listen, (line) => log('app', line), signal),
      onEvent: (event) => log('app', event),
      signal,
    });
    running.defer(async () => {
      await app.stop({ graceMs: appGraceMs });
      log('app', 'stopped');
    });

    onReady(services);
    const failure = await Promise.race([services.failed, aborted(signal)]);
    if (failure !== undefined) {
      log('stack', `${failure}: stopping the stack, see the logs in ${services.layout.log}`);
      throw new Error(failure);
    }
  } finally {
    lock.release();
  }
}

/**
 * Locks the data directory. Call this before checking the port, so that the error of a second start
 * says that a stack is already running.
 */
async function lockDirectory(directory: string): Promise<Lock> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const lock = acquireLock(join(directory, 'lock'));
  if (lock === undefined)
    throw new Error(`a stack is already running on ${directory}: stop it first`);
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
