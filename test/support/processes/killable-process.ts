import type { GuardedProcess } from '../../../app/dev/processes/guarded-process.ts';

/** A process that a test kills and starts again. */
export interface KillableProcess extends AsyncDisposable {
  /** Of the one that runs now, or ran last. */
  readonly pid: number;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Another one in its place; resolves once it is ready. */
  start(): Promise<void>;
}

/** Starts the first one. */
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
