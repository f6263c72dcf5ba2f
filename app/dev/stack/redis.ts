import { Redis } from 'ioredis';
import { freePort } from '../processes/free-port.ts';
import { spawnGuarded, type GuardedProcess } from '../processes/guarded-process.ts';
import { lockFile, logFile, type Layout } from '../files/layout.ts';
import { untilReady } from '../processes/ready.ts';
import { loadSecret } from '../files/secrets.ts';

interface RedisOptions {
  readonly layout: Layout;
  /** The path of redis-server or valkey-server. */
  readonly command: string;
  /** Whether data survives a restart. False keeps the data in memory only. */
  readonly durable: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface RedisServer extends GuardedProcess {
  readonly url: string;
}

/** Starts Redis or Valkey on a free port of 127.0.0.1, with a password. */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const { layout, command, durable, signal } = options;
  const password = (await loadSecret(layout.secrets, 'redis')).value;
  const port = await freePort();
  const log = logFile(layout, 'redis');
  const process = await spawnGuarded(
    {
      name: 'redis',
      command,
      args: ['-'],
      input: configuration({ port, password, durable }),
      cwd: layout.redis,
      env: { TZ: 'UTC' },
      stopSignal: 'SIGTERM',
      lockFile: lockFile(layout, 'redis'),
    },
    { file: log },
  );
  const url = `redis://:${password}@127.0.0.1:${port}`;
  await untilReady(process, () => ping(url), { timeoutMs: 30_000, signal, logFile: log });
  return { ...process, url };
}

/**
 * Returns the configuration of Redis. It sets no data directory, because a path could need
 * escaping; Redis then stores data in its working directory.
 */
function configuration(options: { port: number; password: string; durable: boolean }): string {
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

async function ping(url: string): Promise<void> {
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
