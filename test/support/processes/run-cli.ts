import { execFile } from 'node:child_process';
import { projectFile } from '../../../app/dev/files/project.ts';
import { compileCache } from './compile-cache.ts';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs `probatio` with these arguments, and no other environment variables than these.
 * @param nodeArguments Arguments of Node itself.
 */
export function runCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  nodeArguments: readonly string[] = [],
): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...nodeArguments, projectFile('app/cli.ts'), ...args],
      // The description of the API is longer than the default of 1 MiB.
      { env: { ...compileCache(), ...env }, maxBuffer: 16 * 2 ** 20 },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}
