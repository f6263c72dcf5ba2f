import type { ProcessSpec } from './process-spec.ts';
import { projectFile } from '../files/project.ts';

/** Returns the environment of this process without undefined values. */
export function inheritedEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** Describes a process that runs a TypeScript file of this project with the current Node. */
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
