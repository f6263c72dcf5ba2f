import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseAccess } from '../../../app/dev/postgres/database.ts';
import { createLayout } from '../../../app/dev/files/layout.ts';
import { prepareServer } from '../../../app/dev/postgres/postgres.ts';
import {
  createRuntimeDirectory,
  removeRuntimeDirectory,
} from '../../../app/dev/processes/runtime-directory.ts';
import { fillBytes, mountTmpfs, removeFiller, unmount } from '../../support/documents/tmpfs.ts';
import { createKillable } from '../../support/processes/killable-process.ts';

/** A Postgres that keeps its commits when it is killed, and restarts on the same port. */
export interface OwnPostgres extends AsyncDisposable {
  readonly access: DatabaseAccess;
  /** Sends SIGKILL to all its processes at once, so that no backend completes its work. */
  kill(): Promise<void>;
  /** Starts Postgres; resolves once it has recovered. */
  start(): Promise<void>;
  /** Stops all its processes at once with SIGSTOP, so that it accepts connections but is silent. */
  freeze(): Promise<void>;
  /** Lets frozen processes go on where they stopped. */
  thaw(): Promise<void>;
  /** Fills its disk, which must have a size. */
  fillDisk(): Promise<void>;
  /** Removes what fills its disk. */
  clearDisk(): Promise<void>;
}

interface OwnPostgresOptions {
  /** Environment variables of the server. */
  readonly environment?: Record<string, string>;
  /** The size of a disk of its own, in the format of mount(8), which needs the right to mount. */
  readonly diskSize?: string;
}

export async function startOwnPostgres({
  environment = {},
  diskSize,
}: OwnPostgresOptions = {}): Promise<OwnPostgres> {
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-postgres-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  if (diskSize !== undefined) {
    await mountTmpfs(directory, diskSize);
    resources.defer(() => unmount(directory));
  }
  const layout = await createLayout(directory);
  const runtimeDirectory = await createRuntimeDirectory(join(layout.locks, 'runtime-directory'));
  resources.defer(() => removeRuntimeDirectory(runtimeDirectory));
  const options = { layout, runtimeDirectory, durable: true, environment };
  const { access, start } = await prepareServer(options);
  const server = await createKillable(() => start());
  resources.use(server);

  /** Sends a signal to the postmaster and then to its children, which it can no longer replace. */
  async function signalAll(signal: NodeJS.Signals): Promise<void> {
    process.kill(server.pid, signal);
    for (const child of await childrenOf(server.pid)) signalQuietly(child, signal);
  }

  const running = resources.move();
  return {
    access,
    start: () => server.start(),
    async kill() {
      // Stops the postmaster first, so that it neither handles its children's death nor starts
      // more.
      process.kill(server.pid, 'SIGSTOP');
      for (const child of await childrenOf(server.pid)) process.kill(child, 'SIGKILL');
      await server.kill();
    },
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    fillDisk: () => fillBytes(directory),
    clearDisk: () => removeFiller(directory),
    [Symbol.asyncDispose]: async () => {
      // A frozen server could not stop.
      await signalAll('SIGCONT').catch(() => undefined);
      await running.disposeAsync();
    },
  };
}

/** Sends a signal to a process that may have ended. */
function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns the children of a process with one thread. Linux only. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}
