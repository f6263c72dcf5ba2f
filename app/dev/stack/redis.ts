import { Redis } from 'ioredis';
import { freePort } from '../processes/free-port.ts';
import { spawnGuarded, type GuardedProcess } from '../processes/guarded-process.ts';
import { lockFile, logFile, type Layout } from '../files/layout.ts';
import { untilReady } from '../processes/ready.ts';
import { keepRunning, type RestartingProcess } from '../processes/restarting-process.ts';
import { loadSecret } from '../files/secrets.ts';

interface RedisOptions {
  readonly layout: Layout;
  /** The path of redis-server or valkey-server. */
  readonly command: string;
  /** Whether data survives a restart. False keeps the data in memory only. */
  readonly durable: boolean;
  /** Called with each unexpected end and each restart. */
  readonly onEvent: (message: string) => void;
  readonly mostRestarts: number;
  readonly signal?: AbortSignal | undefined;
}

export interface RedisServer extends RestartingProcess {
  readonly url: string;
}

/**
 * Starts Redis or Valkey on a free port of 127.0.0.1, with a password. Restarts it on the same port
 * if it ends.
 */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const { onEvent, mostRestarts, signal } = options;
  const password = (await loadSecret(options.layout.secrets, 'redis')).value;
  const port = await freePort();
  const server = await keepRunning({
    start: (signal) => startServer({ ...options, signal }, { port, password }),
    onEvent,
    mostRestarts,
    signal,
  });
  return Object.assign(server, { url: urlOf({ port, password }) });
}

interface RedisAccess {
  readonly port: number;
  readonly password: string;
}

function urlOf({ port, password }: RedisAccess): string {
  return `redis://:${password}@127.0.0.1:${port}`;
}

/** Starts Redis; resolves once it responds. */
async function startServer(options: RedisOptions, access: RedisAccess): Promise<GuardedProcess> {
  const { layout, command, durable, signal } = options;
  const log = logFile(layout, 'redis');
  const process = await spawnGuarded(
    {
      name: 'redis',
      command,
      args: ['-'],
      input: configuration({ ...access, durable }),
      cwd: layout.redis,
      env: { TZ: 'UTC' },
      stopSignal: 'SIGTERM',
      lockFile: lockFile(layout, 'redis'),
    },
    { file: log },
  );
  const url = urlOf(access);
  await untilReady(process, () => pingRedis(url), { timeoutMs: 30_000, signal, logFile: log });
  return process;
}

/**
 * Returns the configuration of Redis. It sets no data directory, because a path could need
 * escaping; Redis then stores data in its working directory.
 */
function configuration(options: RedisAccess & Pick<RedisOptions, 'durable'>): string {
  return [
    'bind 127.0.0.1',
    `port ${options.port}`,
    `requirepass ${options.password}`,
    'maxmemory-policy noeviction',
    'save ""',
    `appendonly ${options.durable ? 'yes' : 'no'}`,
    '',
  ].join('\n');
}

/** Resolves once the Redis at a URL responds. Throws if it cannot be reached. */
export async function pingRedis(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  // The event can be ignored: `connect` and `ping` throw the error too. Without a listener, ioredis
  // would log it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.ping();
  } finally {
    client.disconnect();
  }
}
