import { join } from 'node:path';
import { startStandIn } from '../identity-provider/stand-in.ts';
import { createLayout, type Layout } from '../files/layout.ts';
import { startPostgres, type PostgresServer } from '../postgres/postgres.ts';
import { startRedis, type RedisServer } from './redis.ts';
import type { RestartingProcess } from '../processes/restarting-process.ts';
import { createRuntimeDirectory, removeRuntimeDirectory } from '../processes/runtime-directory.ts';
import { keepSigner } from '../signer/signer.ts';
import { tokenEnvironment } from '../signer/token.ts';
import { loadTools } from '../files/tools.ts';

interface ServicesOptions {
  /** The directory of the data, created if missing. */
  readonly directory: string;
  /** Environment variables of the signer beside those of its token: SIGNER_ISSUERS and more. */
  readonly signerSettings: Readonly<Record<`SIGNER_${string}`, string>>;
  /** Whether data survives a crash. False is faster, for tests, but a crash may lose all data. */
  readonly durable: boolean;
  /** Called with each output line of the signer and each event of a service. */
  readonly log: (source: string, line: string) => void;
  /** Aborting this signal cancels the start. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum number of restarts of Postgres or Redis in a row; 5 by default. */
  readonly mostRestarts?: number;
  /** Starts Postgres and Redis elsewhere; by default they are processes of this machine. */
  readonly servers?: Servers | undefined;
}

/** Starts Postgres and Redis. */
export interface Servers {
  readonly startPostgres: typeof startPostgres;
  readonly startRedis: typeof startRedis;
}

/** Postgres, Redis, the signer and an identity provider, ready for an app or for tests. */
export interface Services {
  readonly layout: Layout;
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly signer: RestartingProcess;
  readonly signerSocketPath: string;
  /** The URL of the stand-in for Keycloak. */
  readonly identityProviderUrl: string;
  /**
   * Environment variables for another signer on the token of `signer`, without SIGNER_SOCKET_PATH.
   */
  readonly signerEnvironment: Record<string, string>;
  /**
   * Resolves with a message if Postgres or Redis keeps ending unexpectedly and is not restarted any
   * more. The signer is always restarted.
   */
  readonly failed: Promise<string>;
  /** Stops the signer, then Redis, then Postgres, then the identity provider. */
  stop(): Promise<void>;
}

/**
 * Starts all services concurrently. If a service fails to start, stops the other services and
 * throws.
 */
export async function startServices(options: ServicesOptions): Promise<Services> {
  const { durable, log, mostRestarts = 5, servers = { startPostgres, startRedis } } = options;
  const tools = loadTools();
  const layout = await createLayout(options.directory);
  const runtimeDirectory = await createRuntimeDirectory(join(layout.locks, 'runtime-directory'));
  const signerSocketPath = join(runtimeDirectory, 'signer.sock');
  const signerEnvironment = {
    ...(await tokenEnvironment(layout, tools.softhsmLibrary)),
    ...options.signerSettings,
  };

  const failure = new AbortController();
  const signal = AbortSignal.any([
    failure.signal,
    ...(options.signal === undefined ? [] : [options.signal]),
  ]);
  const common = { layout, durable, mostRestarts, signal };
  const postgres = servers.startPostgres({
    ...common,
    runtimeDirectory,
    onEvent: (event) => log('postgres', event),
  });
  const redis = servers.startRedis({
    ...common,
    command: tools.redisServer,
    onEvent: (event) => log('redis', event),
  });
  const signer = keepSigner({ layout, signerSocketPath, signerEnvironment, log, signal });

  await using started = new AsyncDisposableStack();
  started.defer(() => removeRuntimeDirectory(runtimeDirectory));
  const identityProvider = await startStandIn({
    port: 0,
    file: durable ? join(layout.secrets, 'identity-provider.json') : undefined,
  });
  started.defer(() => identityProvider.stop());
  const stopLater = (name: string, start: Promise<{ stop(): Promise<unknown> }>) => {
    // If one service fails to start, the start of the other services is cancelled, and those that
    // have already started are stopped.
    const settled = start.catch((error: unknown) => failure.abort(error));
    started.defer(async () => {
      const service = await settled;
      if (service === undefined) return;
      await service.stop();
      log(name, 'stopped');
    });
  };
  stopLater('postgres', postgres);
  stopLater('redis', redis);
  stopLater('signer', signer);

  // Promise.all throws the first failure. Later failures are ignored, since they only report that
  // their start was cancelled.
  const [postgresServer, redisServer, signerProcess] = await Promise.all([postgres, redis, signer]);
  const running = started.move();
  return {
    layout,
    postgres: postgresServer,
    redis: redisServer,
    signer: signerProcess,
    signerSocketPath,
    identityProviderUrl: identityProvider.url,
    signerEnvironment,
    failed: Promise.race([
      postgresServer.gaveUp.then((reason) => `postgres ${reason}`),
      redisServer.gaveUp.then((reason) => `redis ${reason}`),
    ]),
    stop: () => running.disposeAsync(),
  };
}
