import { levels } from 'pino';
import { z } from 'zod';

/** What pino writes; `pid`, `hostname` and `name` say nothing new on one machine. */
const Entry = z.looseObject({
  level: z.union([z.number().transform((level) => levels.labels[level] ?? 'log'), z.string()]),
  time: z.union([z.number(), z.string()]),
  msg: z.string().default(''),
  err: z.looseObject({ stack: z.string() }).optional(),
});
const noise = new Set(['pid', 'hostname', 'name']);

/** One line of a process for the terminal: pino's JSON becomes text, all else stays as it is. */
export function readableLine(source: string, line: string): string {
  const prefix = source.padEnd(6);
  const entry = parseEntry(line);
  if (!entry) return `${prefix} ${line}`;
  const { level, time, msg, err, ...fields } = entry;
  const clock = new Date(time).toTimeString().slice(0, 8);
  const details = Object.entries(fields)
    .filter(([key]) => !noise.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const text = [prefix, clock, level, msg, ...details].join(' ');
  return err ? `${text}\n${err.stack}` : text;
}

function parseEntry(line: string): z.output<typeof Entry> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return Entry.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
