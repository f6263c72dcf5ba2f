import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Tools = z.object({ redisServer: z.string(), softhsmLibrary: z.string() });

/** Absolute paths of the system's own tools, as setup.mjs found or installed them. */
type Tools = z.output<typeof Tools>;

const setupResult = new URL('../../../node_modules/.probatio-setup.json', import.meta.url);

/** Throws when set-up has not run in this checkout. */
export function loadTools(): Tools {
  let text: string;
  try {
    text = readFileSync(setupResult, 'utf8');
  } catch (error) {
    throw new Error('not set up yet: run `node setup.mjs`', { cause: error });
  }
  return Tools.parse(JSON.parse(text));
}
