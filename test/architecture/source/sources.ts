import { globSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

/** A source file; `path` is relative to the project root, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const root = join(import.meta.dirname, '../../..');

/** Reads every .ts and .mjs file of the source folders, and the .mjs files of the root. */
export function readSources(): readonly SourceFile[] {
  const found = globSync(['*.mjs', '{app,signer,client,k8s,charts,compose,test}/**/*.{ts,mjs}'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  return found
    .map((path) => path.split(sep).join('/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Tells whether a path is a folder or lies anywhere below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Returns the folder that directly holds a file; the root is `.`. */
export function folderOf(path: string): string {
  return posix.dirname(path);
}

/** Returns the number of the line at an offset of a text, counted from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
