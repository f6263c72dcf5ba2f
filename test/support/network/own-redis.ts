import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { spawnGuarded } from '../../../app/dev/processes/guarded-process.ts';
import { untilReady } from '../../../app/dev/processes/ready.ts';
import { pingRedis } from '../../../app/dev/stack/redis.ts';
import { loadTools } from '../../../app/dev/files/tools.ts';

/** A Redis that a test may kill or pause; the test's end stops it. */
export interface OwnRedis {
  readonly url: string;
  /** Sends SIGKILL and resolves once the process is gone. */
  kill(): Promise<void>;
  /** Starts another Redis on the same port: empty, or with the data if they are durable. */
  restart(): Promise<void>;
  /** Removes durable data. Call it while the process is gone. */
  loseData(): Promise<void>;
  /** Pauses the process: it keeps its connections and responds to nothing. */
  hang(): void;
  resume(): void;
}

export async function startOwnRedis(
  t: Pick<ExecutionContext, 'teardown'>,
  { isDurable = false }: { readonly isDurable?: boolean } = {},
): Promise<OwnRedis> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-redis-'));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const appendOnly = isDurable ? 'yes' : 'no';
  const start = async () => {
    const server = await spawnGuarded(
      {
        name: 'redis',
        command: loadTools().redisServer,
        args: [
          '--bind',
          '127.0.0.1',
          '--port',
          String(port),
          '--save',
          '',
          '--appendonly',
          appendOnly,
        ],
        cwd: directory,
        env: { TZ: 'UTC' },
        stopSignal: 'SIGTERM',
      },
      { file: path.join(directory, 'log') },
    );
    await untilReady(server, () => pingRedis(url), { timeoutMs: 60_000 });
    return server;
  };
  let server = await start();
  t.teardown(async () => {
    server.kill('SIGCONT');
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });
  return {
    url,
    async kill() {
      server.kill('SIGKILL');
      await server.exited;
    },
    async restart() {
      server = await start();
    },
    loseData: () => rm(path.join(directory, 'appendonlydir'), { recursive: true, force: true }),
    // A signal through the watchdog could arrive after the next command.
    hang: () => void process.kill(server.pid, 'SIGSTOP'),
    resume: () => void process.kill(server.pid, 'SIGCONT'),
  };
}
