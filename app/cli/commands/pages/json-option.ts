import { readFileSync } from 'node:fs';
import { UsageError } from '../../command.ts';

/** Reads the JSON of the file that an option names, which may be a pipe. Throws UsageError. */
export function readJsonOption(option: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new UsageError(`${option} must name a file of JSON that can be read`, { cause });
  }
}
