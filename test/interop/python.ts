import { execFile } from 'node:child_process';
import { projectFile } from '../../app/dev/files/project.ts';

export interface PythonRun {
  readonly code: number;
  readonly output: string;
  /** The error output, such as a traceback or the report of unittest. */
  readonly errors: string;
}

/** Runs a program of this folder in the environment that `.ci/interop` made. */
export function runPython(
  program: string,
  args: readonly string[] = [],
  input = '',
): Promise<PythonRun> {
  const python = process.env['INTEROP_PYTHON'];
  if (python === undefined) throw new Error('this test needs Python: run it through `.ci/interop`');
  return new Promise((resolve) => {
    const child = execFile(
      python,
      ['-B', projectFile(`test/interop/${program}`), ...args],
      (error, output, errors) => {
        resolve({ code: child.exitCode ?? Number(error !== null), output, errors });
      },
    );
    // A program that ends early does not read its input; its exit code reports the error.
    child.stdin?.on('error', () => {}).end(input);
  });
}
