import { execFile } from 'node:child_process';
import { projectFile } from '../../../app/dev/files/project.ts';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `probatio` with these arguments, and no other environment variables than these. */
export function runCli(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [projectFile('app/cli.ts'), ...args],
      { env },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}
