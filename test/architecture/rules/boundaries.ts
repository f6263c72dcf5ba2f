import { importsOf } from '../source/imports.ts';
import { isWithin, type SourceFile } from '../source/sources.ts';

/** A top folder with what it may import of the other top folders. */
interface Boundary {
  readonly top: string;
  readonly mayImport: readonly string[];
}

const boundaries: readonly Boundary[] = [
  // In development, the app bundles the explorer's page, which is a program of the client library.
  { top: 'app', mayImport: ['signer/protocol', 'signer/log', 'client/explorer'] },
  { top: 'signer', mayImport: [] },
  { top: 'client', mayImport: [] },
  { top: 'k8s', mayImport: ['signer/protocol', 'signer/log'] },
];

const tops = [...boundaries.map(({ top }) => top), 'test'];

/** Finds imports that cross from one top folder into another where no boundary allows it. */
export function boundaryProblems(files: readonly SourceFile[]): readonly string[] {
  return boundaries.flatMap(({ top, mayImport }) => {
    const foreign = tops.filter((other) => other !== top);
    const allowed = mayImport.length === 0 ? 'nothing' : `only ${mayImport.join(', ')}`;
    return files
      .filter(({ path }) => isWithin(path, top))
      .flatMap((file) =>
        importsOf(file)
          .filter(({ target }) => foreign.some((other) => isWithin(target, other)))
          .filter(({ target }) => !mayImport.some((folder) => isWithin(target, folder)))
          .map(
            ({ target, line }) =>
              `${file.path}:${line} imports ${target}: ${top} may import ${allowed} of the others.`,
          ),
      );
  });
}

/** Finds imports of `app/dev` by the rest of `app/`, which must run without it. */
export function devProblems(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => isWithin(path, 'app') && !isWithin(path, 'app/dev'))
    .flatMap((file) =>
      importsOf(file)
        .filter(({ target }) => isWithin(target, 'app/dev'))
        .map(
          ({ target, line }) =>
            `${file.path}:${line} imports ${target}: move what the app needs out of app/dev.`,
        ),
    );
}
