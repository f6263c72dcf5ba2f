import { join } from 'node:path';
import { describeExit, type GuardedProcess } from '../processes/guarded-process.ts';
import { createLayout, type Layout } from '../files/layout.ts';
import { startPostgres, type PostgresServer } from '../postgres/postgres.ts';
import { startRedis, type RedisServer } from './redis.ts';
import type { RestartingProcess } from '../processes/restarting-process.ts';
import { createRuntimeDirectory, removeRuntimeDirectory } from '../processes/runtime-directory.ts';
import { keepSigner } from '../signer/signer.ts';
import { tokenEnvironment } from '../signer/token.ts';
import { loadTools } from '../files/tools.ts';

interface ServicesOptions {
  /** Where the data goes; made if missing. */
  readonly directory: string;
  /** False for tests: faster, and lost in a crash. */
  readonly durable: boolean;
  /** Gets the signer's output and what happens to the services, line by line. */
  readonly log: (source: string, line: string) => void;
  /** Gives the start up. */
  readonly signal?: AbortSignal | undefined;
}

/** Postgres, Redis and the signer, ready to be used by an app or by tests. */
export interface Services {
  readonly layout: Layout;
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly signer: RestartingProcess;
  readonly signerSocketPath: string;
  /** Everything a signer of a test's own needs but SIGNER_SOCKET_PATH. */
  readonly signerEnvironment: Record<string, string>;
  /** Resolves with a message if Postgres or Redis ends by itself. The signer is started again. */
  readonly failed: Promise<string>;
  /** Stops the signer, then Redis, then Postgres. */
  stop(): Promise<void>;
}

/** Starts all services at the same time. Throws, with nothing left running, if one does not start. */
export async function startServices(options: ServicesOptions): Promise<Services> {
  const { durable, log } = options;
  const tools = loadTools();
  const layout = await createLayout(options.directory);
  const runtimeDirectory = await createRuntimeDirectory(join(layout.locks, 'runtime-directory'));
  const signerSocketPath = join(runtimeDirectory, 'signer.sock');
  const signerEnvironment = await tokenEnvironment(layout, tools.softhsmLibrary);

  const failure = new AbortController();
  const signal = AbortSignal.any([failure.signal, ...(options.signal ? [options.signal] : [])]);
  const postgres = startPostgres({ layout, runtimeDirectory, durable, signal });
  const redis = startRedis({ layout, command: tools.redisServer, durable, signal });
  const signer = keepSigner({ layout, signerSocketPath, signerEnvironment, log, signal });

  await using started = new AsyncDisposableStack();
  started.defer(() => removeRuntimeDirectory(runtimeDirectory));
  const stopLater = (name: string, start: Promise<{ stop(): Promise<unknown> }>) => {
    // A failure gives the other starts up; what had started by then is stopped.
    const settled = start.catch((error: unknown) => failure.abort(error));
    started.defer(async () => {
      const service = await settled;
      if (!service) return;
      await service.stop();
      log(name, 'stopped');
    });
  };
  stopLater('postgres', postgres);
  stopLater('redis', redis);
  stopLater('signer', signer);

  // Throws what failed first: the others then only say that they were given up.
  const [postgresServer, redisServer, signerProcess] = await Promise.all([postgres, redis, signer]);
  const running = started.move();
  return {
    layout,
    postgres: postgresServer,
    redis: redisServer,
    signer: signerProcess,
    signerSocketPath,
    signerEnvironment,
    failed: Promise.race([unexpectedEnd(postgresServer), unexpectedEnd(redisServer)]),
    stop: () => running.disposeAsync(),
  };
}

async function unexpectedEnd(process: GuardedProcess): Promise<string> {
  const exit = await process.exited;
  return `${process.name} ended by itself (${describeExit(exit)})`;
}
