import type { ProcessSpec } from './process-spec.ts';
import { projectFile } from '../files/project.ts';

/** The environment this process was called in. */
export function inheritedEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** A TypeScript file of this project, run by the Node that runs this process. */
export function nodeProcess(
  name: string,
  [file, ...args]: [file: string, ...args: string[]],
  env: Record<string, string>,
  flags: readonly string[] = [],
): ProcessSpec {
  return {
    name,
    command: process.execPath,
    args: [...flags, projectFile(file), ...args],
    cwd: projectFile('.'),
    env,
    stopSignal: 'SIGTERM',
  };
}
