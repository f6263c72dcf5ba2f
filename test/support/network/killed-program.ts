import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { inheritedEnvironment } from '../../../app/dev/processes/node-process.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import { rounds } from '../runs/rounds.ts';
import { startCutter } from './cutter.ts';

/** A file of this project and its arguments: a program that works as the owner of a database. */
export type OwnersProgram = readonly [file: string, ...args: string[]];

function start([file, ...args]: OwnersProgram, ownerUrl: string) {
  const env = { ...inheritedEnvironment(), DATABASE_OWNER_URL: ownerUrl };
  return spawn(process.execPath, [projectFile(file), ...args], { env, stdio: 'ignore' });
}

/** Runs a program to its end, and returns the number of messages that it sent to Postgres. */
export async function countMessages(
  t: ExecutionContext,
  program: OwnersProgram,
  ownerUrl: string,
): Promise<number> {
  const counter = await startCutter(t, ownerUrl);
  const [code] = (await once(start(program, counter.url), 'exit')) as [number | null];
  t.is(code, 0);
  return counter.counted();
}

/**
 * Starts a program and kills it at a message to Postgres, from 1, which still arrives there if
 * `isSent` is set. Resolves once the process is gone.
 */
export async function killAt(
  t: ExecutionContext,
  program: OwnersProgram,
  { message, isSent, ownerUrl }: { message: number; isSent: boolean; ownerUrl: string },
): Promise<void> {
  const cutter = await startCutter(t, ownerUrl);
  const child = start(program, cutter.url);
  cutter.cutAt({ message, isSent, onCut: () => child.kill('SIGKILL') });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  t.deepEqual([code, signal], [null, 'SIGKILL'], `message ${message}`);
}

/** Returns the messages at which processes are killed: ROUNDS of them, or all if it is large. */
export function chosenOf(messages: number, random: () => number): readonly number[] {
  const all = Array.from({ length: messages }, (_, index) => index + 1);
  if (rounds >= messages) return all;
  return Array.from({ length: rounds }, () => 1 + Math.floor(random() * messages));
}
