import { lineAt, type SourceFile } from '../source/sources.ts';

const constant = /^(?:export )?const ([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b/gm;
const members = /(?:interface \w+[^{;=]*|type \w+(?:<[^>]*>)? =\s*)\{\n(.*?)\n\}/gs;
const mutable = /^ {2}(?!readonly )('?[\w-]+'?)\??:/gm;

/** Finds constants in capitals with underscores; camelCase names them. */
export function screamingConstants(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(constant)].map(
      ({ index, 1: name = '' }) =>
        `${path}:${lineAt(text, index)} names a constant ${name}: use camelCase.`,
    ),
  );
}

/**
 * Finds members of interfaces and object types that are not readonly. `assigned` lists those that
 * are assigned after construction, as `path member`.
 */
export function mutableMembers(
  files: readonly SourceFile[],
  assigned: readonly string[],
): readonly string[] {
  return files
    .filter(({ path }) => path.endsWith('.ts'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(members)].flatMap(({ index, 1: body = '' }) =>
        [...body.matchAll(mutable)]
          .filter(({ 1: name = '' }) => !assigned.includes(`${path} ${name}`))
          .map(
            ({ 1: name = '' }) =>
              `${path}:${lineAt(text, index)} has a member ${name} that is not readonly.`,
          ),
      ),
    );
}
