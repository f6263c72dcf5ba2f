import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The parts of a package.json that rules need; `folder` is relative to the project root. */
export interface Manifest {
  readonly folder: string;
  readonly version: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '../../..');

/** Reads the package.json of the root, whose folder is `.`, and of each workspace. */
export function readManifests(): readonly Manifest[] {
  const main = readManifest('.');
  return [main, ...(main.workspaces ?? []).map(readManifest)];
}

function readManifest(folder: string): Manifest {
  const text = readFileSync(join(root, folder, 'package.json'), 'utf8');
  return { ...(JSON.parse(text) as Omit<Manifest, 'folder'>), folder };
}
