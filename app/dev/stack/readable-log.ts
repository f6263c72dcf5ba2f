import { z } from 'zod';

/** A log line of the app or the signer. */
const Entry = z.looseObject({
  level: z.string(),
  time: z.iso.datetime(),
  msg: z.string().default(''),
  err: z.looseObject({ stack: z.string() }).optional(),
});
/** Fields of a log line that are not shown, because they do not help on a single machine. */
const noise = new Set(['service', 'version']);

/**
 * Formats one output line of a process for the terminal: prepends the name of the process, and
 * turns JSON into text. Other lines keep their text.
 */
export function readableLine(source: string, line: string): string {
  const prefix = source.padEnd(6);
  const entry = parseEntry(line);
  if (entry === undefined) return `${prefix} ${line}`;
  const { level, time, msg, err, ...fields } = entry;
  const clock = new Date(time).toTimeString().slice(0, 8);
  const details = Object.entries(fields)
    .filter(([key]) => !noise.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const text = [prefix, clock, level, msg, ...details].join(' ');
  return err === undefined ? text : `${text}\n${err.stack}`;
}

function parseEntry(line: string): z.output<typeof Entry> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return Entry.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
