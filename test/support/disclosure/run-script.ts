import { execFile } from 'node:child_process';

export interface ScriptRun {
  readonly code: number;
  /** The lines of both outputs. */
  readonly lines: readonly string[];
}

/** Runs a shell script in a folder, with no environment but the path of programs. */
export function runScript(
  directory: string,
  script: string,
  args: readonly string[],
): Promise<ScriptRun> {
  const environment = { PATH: process.env['PATH'] };
  return new Promise((resolve) => {
    const child = execFile(
      'sh',
      ['--', script, ...args],
      { cwd: directory, env: environment },
      (error, output, errors) => {
        const lines = `${output}${errors}`.split('\n').slice(0, -1);
        resolve({ code: child.exitCode ?? Number(error !== null), lines });
      },
    );
  });
}
