import type { GuardedProcess } from '../../../app/dev/processes/guarded-process.ts';
import type { ProcessExit } from '../../../app/dev/processes/process-spec.ts';

/** A process that a test kills and starts again. */
export interface KillableProcess extends AsyncDisposable {
  /** The id of the current process, or of the latest one. */
  readonly pid: number;
  /** Sends SIGKILL; resolves once the process is gone. */
  kill(): Promise<void>;
  /** Sends SIGTERM, and SIGKILL after 30 s; resolves once the process is gone. */
  stop(): Promise<ProcessExit>;
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
    stop: () => current.stop(),
    async start() {
      current = await start();
    },
    [Symbol.asyncDispose]: async () => void (await current.stop()),
  };
}
