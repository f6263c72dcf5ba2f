import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFile } from '../../../app/dev/files/project.ts';

export const documentFile = projectFile('openapi.json');
/** The folder with the settings of the tools and the programs that use generated clients. */
export const toolsFolder = projectFile('test/openapi/tools');

/** The result of a program. */
export interface Ran {
  readonly code: number;
  /** The output and the error output, one after the other. */
  readonly output: string;
  readonly standardOutput: string;
}

interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Returns a file of the directory in which `.ci/openapi` installed the tools. */
export function toolFile(name: string): string {
  const home = process.env['OPENAPI_TOOLS'];
  if (home === undefined) throw new Error('this test needs tools: run it through `.ci/openapi`');
  return join(home, name);
}

export const nodeTool = (name: string) => toolFile(`node_modules/.bin/${name}`);
export const pythonTool = (name: string) => toolFile(`python/bin/${name}`);

/** Runs a program to its end. */
export function run(
  program: string,
  args: readonly string[],
  { cwd = projectFile('.'), env = {} }: RunOptions = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 };
    const child = execFile(program, [...args], options, (error, output, errors) => {
      const code = child.exitCode ?? Number(error !== null);
      resolve({ code, output: `${output}\n${errors}`, standardOutput: output });
    });
  });
}

/** Creates a directory that is removed with the returned function. */
export async function scratchDirectory() {
  const path = await mkdtemp(join(tmpdir(), 'probatio-openapi-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
