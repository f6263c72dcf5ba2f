import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { importsOf, packagesOf } from '../../architecture/source/imports.ts';

/** The files and packages that the entry points of a program reach. */
export interface Reached {
  /** The folders of the packages, such as `node_modules/koa`. */
  readonly packages: ReadonlySet<string>;
  /** The imported files that do not exist. */
  readonly missing: readonly string[];
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/**
 * Follows the imports of `entries` through the files below `root`, and the dependencies of each
 * imported package. Files and packages that exist in development alone are `excepted`.
 */
export function walkImports(
  root: string,
  entries: readonly string[],
  excepted: (target: string) => boolean,
): Reached {
  const missing: string[] = [];
  const packages = new Set<string>();
  const seen = new Set(entries);
  // A set is iterated together with what is added to it meanwhile.
  for (const path of seen) {
    if (!existsSync(join(root, path))) {
      missing.push(path);
      continue;
    }
    if (!/\.(?:ts|mjs|js)$/.test(path)) continue;
    const file = { path, text: readFileSync(join(root, path), 'utf8') };
    for (const { target } of importsOf(file)) if (!excepted(target)) seen.add(target);
    for (const { name } of packagesOf(file)) {
      const folder = excepted(name) ? undefined : findPackage(root, join(root, path), name);
      if (folder !== undefined) packages.add(folder);
      else if (!excepted(name)) missing.push(`${path}: ${name}`);
    }
  }
  for (const folder of packages) {
    for (const [name, isOptional] of dependenciesOf(join(root, folder))) {
      const found = findPackage(root, join(root, folder, 'package.json'), name);
      if (found !== undefined) packages.add(found);
      else if (!isOptional) missing.push(`${folder}: ${name}`);
    }
  }
  return { packages, missing };
}

function dependenciesOf(
  directory: string,
): readonly (readonly [name: string, isOptional: boolean])[] {
  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = manifest;
  return [
    ...Object.keys(dependencies).map((name) => [name, name in optionalDependencies] as const),
    ...Object.keys({ ...optionalDependencies, ...peerDependencies }).map(
      (name) => [name, true] as const,
    ),
  ];
}

/** Finds a package as Node does: in the node_modules of each folder from the importer upwards. */
function findPackage(root: string, importer: string, name: string): string | undefined {
  for (let folder = dirname(importer); ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(join(found, 'package.json'))) return relative(root, found);
    if (folder === root || folder === dirname(folder)) return undefined;
  }
}
