import { fileURLToPath } from 'node:url';

/** Returns the absolute path of a file of this project. */
export function projectFile(path: string): string {
  return fileURLToPath(new URL(`../../../${path}`, import.meta.url));
}
