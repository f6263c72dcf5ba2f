import type { GuardedProcess } from '../../../app/dev/processes/guarded-process.ts';

/** A process that a test kills and starts again. */
export interface KillableProcess extends AsyncDisposable {
  /** The id of the current process, or of the latest one. */
  readonly pid: number;
  /** Sends SIGKILL; resolves once the process is gone. */
  kill(): Promise<void>;
  /** Starts a new process; resolves once it is ready. */
  start(): Promise<void>;
}

/** Starts the first process. */
export async function createKillable(
  start: () => Promise<GuardedProcess>,
): Promise<KillableProcess> {
  let current = await start();
  return {
    get pid() {
      return current.pid;
    },
    async kill() {
      current.kill('SIGKILL');
      await current.exited;
    },
    async start() {
      current = await start();
    },
    [Symbol.asyncDispose]: async () => void (await current.stop()),
  };
}
