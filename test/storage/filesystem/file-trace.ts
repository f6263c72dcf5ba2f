import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

const Trace = z.object({
  traceEvents: z.array(
    z.object({
      name: z.string(),
      ph: z.string(),
      args: z.object({
        path: z.string().optional(),
        old_path: z.string().optional(),
        new_path: z.string().optional(),
      }),
    }),
  ),
});
type FileCall = z.output<typeof Trace>['traceEvents'][number];

/** Returns the calls that a program makes to the file system, in order, from Node's own trace. */
export async function traceFileCalls(
  directory: string,
  [file, ...args]: [file: string, ...args: string[]],
): Promise<FileCall[]> {
  const trace = join(directory, 'trace.json');
  const flags = ['--trace-event-categories', 'node.fs.async', '--trace-event-file-pattern', trace];
  await run(process.execPath, [...flags, file, ...args]);
  const { traceEvents } = Trace.parse(JSON.parse(await readFile(trace, 'utf8')));
  return traceEvents.filter(({ ph }) => ph === 'b');
}

export interface Durability {
  /** Names under `/acknowledged` that the program accessed. */
  readonly steps: string[];
  /** Changes that a power failure could undo although a later step relied on them. */
  readonly losses: string[];
}

/** Returns what was not on disk when a sequential program relied on it. */
export function judgeDurability(calls: FileCall[]): Durability {
  const steps: string[] = [];
  const losses: string[] = [];
  /** Written files, and directories with new names, that are not known to be on disk. */
  const unsynced = new Set<string>();
  let opened = '';
  for (const { name, args } of calls) {
    const { path = '', old_path: from = '', new_path: to = '' } = args;
    if (name === 'open') opened = path;
    if (name.startsWith('write')) unsynced.add(opened).add(dirname(opened));
    if (name === 'fsync' || name === 'fdatasync') unsynced.delete(opened);
    if (name === 'rename') {
      if (unsynced.has(from)) losses.push(`${from} when it was renamed`);
      unsynced.add(dirname(from)).add(dirname(to));
    }
    if (path.startsWith('/acknowledged/')) {
      const step = path.slice('/acknowledged/'.length);
      steps.push(step);
      for (const lost of unsynced) losses.push(`${lost} after ${step}`);
    }
  }
  return { steps, losses };
}
