import { readFileSync } from 'node:fs';

/** What a file of the configuration holds, or what is wrong with it, without a word of its content. */
export function readJsonFile(file: string): { json: unknown } | { problem: string } {
  try {
    return { json: JSON.parse(readFileSync(file, 'utf8')) };
  } catch (error) {
    return { problem: error instanceof SyntaxError ? 'is not JSON' : 'cannot be read' };
  }
}
