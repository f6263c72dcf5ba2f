import { readFileSync } from 'node:fs';

/**
 * Reads a configuration file. A problem says what is wrong with it and quotes none of its content.
 */
export function readJsonFile(
  file: string,
): { readonly json: unknown } | { readonly problem: string } {
  try {
    return { json: JSON.parse(readFileSync(file, 'utf8')) };
  } catch (error) {
    return { problem: error instanceof SyntaxError ? 'is not JSON' : 'cannot be read' };
  }
}
