import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { projectFile } from '../../../app/dev/files/project.ts';

/** The label of the containers of one run of tests. */
export const runLabel = 'dev.probatio.test-run';

/**
 * Starts a process that removes the containers of a run, and their volumes, once this process has
 * ended for whatever reason. Ctrl-C in the terminal does not reach it.
 */
export function startReaper(run: string) {
  const child = spawn(
    process.execPath,
    [projectFile('test/support/containers/reaper-process.ts'), run],
    { stdio: ['pipe', 'ignore', 'inherit'], detached: true },
  );
  const exited = once(child, 'exit');
  child.unref();
  return {
    /** The labels by which it knows the containers. */
    labels: { [runLabel]: run },
    /** Removes the containers that are left. */
    async stop(): Promise<void> {
      child.ref();
      child.stdin.end();
      await exited;
    },
  };
}
