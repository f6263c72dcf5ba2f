import { posix } from 'node:path';
import { scan } from './scan.ts';
import { folderOf, lineAt, type SourceFile } from './sources.ts';

/** A reference of a file to another file of the project; `target` is relative to the root. */
export interface Import {
  readonly target: string;
  readonly line: number;
}

const scope = '@probatio/';
const beforeQuote = /(?=['"`])/.source;

/** Matches up to the quote of a specifier: static and dynamic imports, and programs by URL. */
const openings = new RegExp(
  [
    String.raw`(?<![.\w$])(?:from|import)\s*${beforeQuote}`,
    String.raw`(?<![.\w$])import\s*\(\s*${beforeQuote}`,
    String.raw`\b(?<program>new\s+URL\(\s*|import\.meta\.dirname,\s*)${beforeQuote}`,
    String.raw`\bimport\.meta\.resolve\(\s*${beforeQuote}`,
  ].join('|'),
  'g',
);

/** A reference of a file to a package of npm, or to a file in it. */
export interface PackageImport {
  readonly name: string;
  readonly line: number;
  /** Tells whether the file only looks up where the package is, by `import.meta.resolve`. */
  readonly isLookup: boolean;
}

/** Finds what a file imports of the project, in whichever way it does so; packages are left out. */
export function importsOf(file: SourceFile): readonly Import[] {
  return specifiersOf(file).flatMap(({ specifier, line, isProgram }) => {
    if (isProgram && !/\.(?:ts|mjs)$/.test(specifier)) return [];
    const target = resolve(file.path, isProgram ? `./${specifier}` : specifier);
    return target === undefined ? [] : [{ target, line }];
  });
}

/** Finds the packages that a file imports; modules of Node and of the project are left out. */
export function packagesOf(file: SourceFile): readonly PackageImport[] {
  return specifiersOf(file).flatMap(({ specifier, line, isProgram, isLookup }) => {
    if (isProgram || /^(?:\.|node:)/.test(specifier) || specifier.startsWith(scope)) return [];
    const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
    return [{ name, line, isLookup }];
  });
}

function specifiersOf(file: SourceFile) {
  const { code, strings } = scan(file.text);
  return [...code.matchAll(openings)].flatMap((found) => {
    const quote = found.index + found[0].length;
    const specifier = strings.get(quote);
    if (specifier === undefined) return [];
    const isProgram = found.groups?.['program'] !== undefined;
    const isLookup = found[0].startsWith('import.meta.resolve');
    return [{ specifier, line: lineAt(file.text, quote), isProgram, isLookup }];
  });
}

function resolve(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith(scope)) return specifier.slice(scope.length);
  if (!specifier.startsWith('.')) return undefined;
  return posix.join(folderOf(importer), specifier);
}

/** Returns the folder of a target, which may itself be a folder that a package exports. */
export function targetFolder(target: string, folders: ReadonlySet<string>): string {
  return folders.has(target) ? target : folderOf(target);
}
