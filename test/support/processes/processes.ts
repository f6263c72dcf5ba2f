import type { ExecutionContext } from 'ava';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forEachLine } from '../../../app/dev/processes/log-lines.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import { until } from '../../../app/dev/processes/until.ts';

/** Creates a directory that is removed when the test ends. */
export async function temporaryDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'probatio-test-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export interface Program {
  readonly pid: number;
  /** Lines of both output streams, in the order of arrival. */
  readonly lines: string[];
  readonly exitCode: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
  /** Writes a line to the program's standard input. */
  type(line: string): void;
}

/** Runs a TypeScript file of this project. It is stopped when the test ends. */
export function runProgram(
  t: ExecutionContext,
  [file, ...args]: [file: string, ...args: string[]],
  env: NodeJS.ProcessEnv = {},
): Program {
  const child = spawn(process.execPath, [projectFile(file), ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  if (child.pid === undefined) throw new Error(`${file} did not start`);
  const lines: string[] = [];
  forEachLine(child.stdout, (line) => lines.push(line));
  forEachLine(child.stderr, (line) => lines.push(line));
  const exitCode = new Promise<number | null>((resolve) => child.on('close', resolve));
  t.teardown(async () => {
    child.kill('SIGTERM');
    await exitCode;
  });
  return {
    pid: child.pid,
    lines,
    exitCode,
    kill: (signal) => child.kill(signal),
    type: (line) => void child.stdin.write(`${line}\n`),
  };
}

/**
 * Resolves with the first line that matches. Throws with all lines if the program exits without
 * one.
 */
export async function untilLine({ lines, exitCode }: Program, pattern: RegExp): Promise<string> {
  const find = () => lines.find((line) => pattern.test(line));
  const ended = exitCode.then(() => {
    const line = find();
    if (line === undefined) throw new Error(lines.join('\n'));
    return line;
  });
  return Promise.race([until(find, { what: String(pattern), timeoutMs: 60_000 }), ended]);
}
