import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Tools = z.object({ redisServer: z.string(), softhsmLibrary: z.string() });

/** The absolute paths of the system tools that setup.mjs found or installed. */
type Tools = z.output<typeof Tools>;

const setupResult = new URL('../../../node_modules/.probatio-setup.json', import.meta.url);

/** Loads the paths of the system tools. Throws if setup.mjs has not run in this checkout. */
export function loadTools(): Tools {
  let text: string;
  try {
    text = readFileSync(setupResult, 'utf8');
  } catch (error) {
    throw new Error('this checkout is not set up: run `node setup.mjs`', { cause: error });
  }
  return Tools.parse(JSON.parse(text));
}
