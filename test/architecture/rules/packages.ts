import { packagesOf, type PackageImport } from '../source/imports.ts';
import type { Manifest } from '../source/manifests.ts';
import { isWithin, type SourceFile } from '../source/sources.ts';

/** The folders that no package or image contains; their files may import devDependencies. */
const developmentFolders = ['app/dev', 'charts', 'compose', 'test'];

/** Folders of another workspace that a workspace runs, whose packages it needs as well. */
const borrowedFolders: ReadonlyMap<string, readonly string[]> = new Map([
  ['app', ['signer/protocol', 'signer/log']],
]);

/**
 * Finds packages that a file imports though the package.json of its workspace, or of the root for
 * tests, does not list them, and packages that a workspace lists but does not import.
 */
export function dependencyProblems(
  files: readonly SourceFile[],
  manifests: readonly Manifest[],
): readonly string[] {
  return manifests.flatMap((manifest) => {
    const borrowed = borrowedFolders.get(manifest.folder) ?? [];
    const own = files.filter(
      ({ path }) =>
        manifestOf(path, manifests) === manifest ||
        borrowed.some((folder) => isWithin(path, folder)),
    );
    const unused = manifest.folder === '.' ? [] : unusedPackages(own, manifest);
    return [...own.flatMap((file) => unlistedPackages(file, manifest)), ...unused];
  });
}

/** Finds versions that are ranges or that differ between packages. */
export function versionProblems(manifests: readonly Manifest[]): readonly string[] {
  const [main] = manifests;
  const wanted = new Map<string, string>();
  return manifests.flatMap((manifest) => {
    const { folder, version } = manifest;
    const differs =
      version === main?.version ? [] : [`${folder} has version ${version}, not ${main?.version}.`];
    return [
      ...differs,
      ...Object.entries(listed(manifest)).flatMap(([name, range]) => {
        const first = wanted.get(name) ?? range;
        wanted.set(name, first);
        if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(range)) {
          return [`${folder} asks for ${name} ${range}: name one exact version.`];
        }
        if (range === first) return [];
        return [`${folder} asks for ${name} ${range}, another package for ${first}: take one.`];
      }),
    ];
  });
}

/** Finds public entry points of a package whose source file does not exist. */
export function exportProblems(
  files: readonly SourceFile[],
  manifests: readonly Manifest[],
): readonly string[] {
  const paths = new Set(files.map(({ path }) => path));
  return manifests.flatMap(({ folder, exports = {} }) =>
    Object.entries(exports)
      .filter(([, target]) => target.endsWith('.js') && !target.includes('*'))
      .map(([entry, target]) => [entry, sourceOf(folder, target)] as const)
      .filter(([, source]) => !paths.has(source))
      .map(([entry, source]) => `${folder} exports ${entry}, but ${source} does not exist.`),
  );
}

/** Returns the TypeScript file from which a file of a built package is made. */
function sourceOf(folder: string, target: string): string {
  return target.replace(/^\.\/dist\//, `${folder}/`).replace(/\.js$/, '.ts');
}

function manifestOf(path: string, manifests: readonly Manifest[]): Manifest | undefined {
  return (
    manifests.find(({ folder }) => isWithin(path, folder)) ??
    manifests.find(({ folder }) => folder === '.')
  );
}

function listed({ dependencies = {}, devDependencies = {} }: Manifest) {
  return { ...dependencies, ...devDependencies };
}

function unlistedPackages(file: SourceFile, manifest: Manifest): readonly string[] {
  const isDevelopment = developmentFolders.some((folder) => isWithin(file.path, folder));
  const isListed = ({ name, isLookup }: PackageImport) =>
    Object.hasOwn(
      (isDevelopment || isLookup ? listed(manifest) : manifest.dependencies) ?? {},
      name,
    );
  const place = manifest.folder === '.' ? 'package.json' : `${manifest.folder}/package.json`;
  return packagesOf(file)
    .filter((found) => !isListed(found))
    .map(({ name, line }) => `${file.path}:${line} imports ${name}, which ${place} does not list.`);
}

function unusedPackages(files: readonly SourceFile[], manifest: Manifest): readonly string[] {
  const used = new Set(files.flatMap((file) => packagesOf(file).map(({ name }) => name)));
  return Object.keys(listed(manifest))
    .filter((name) => !used.has(name))
    .map((name) => `${manifest.folder} lists ${name} but does not import it: remove it.`);
}
