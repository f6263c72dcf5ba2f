import { readFileSync } from 'node:fs';
import { findFileProblem } from '../../signer/protocol/process/named-file.ts';

/**
 * Reads a JSON file, or returns the problem with it, as the rest of a sentence about the variable
 * that names it. The problem quotes none of the file's content.
 */
export function readJsonFile(
  file: string,
): { readonly json: unknown } | { readonly problem: string } {
  const problem = findFileProblem(file);
  if (problem !== undefined) return { problem };
  try {
    return { json: JSON.parse(readFileSync(file, 'utf8')) };
  } catch {
    return { problem: 'names a file that is not JSON; correct its content' };
  }
}
