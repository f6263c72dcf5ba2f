import { readFileSync } from 'node:fs';

/**
 * Reads a JSON file, or returns the problem with it. The problem quotes none of the file's content.
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
