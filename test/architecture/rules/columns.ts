import { scan } from '../source/scan.ts';
import { isWithin, lineAt, type SourceFile } from '../source/sources.ts';

/** Calls of Kysely that put `*` into a statement. */
const starCall = /\.(?:selectAll|returningAll|countAll)\b/g;

/** SQL with `*` for columns or rows. */
const starText = /\b(?:select|returning)\s+(?:\w+\.)?\*|\bcount\(\*\)/i;

/**
 * Finds statements with `*` in the given folders. They are never prepared
 * (docs/adr/0012-prepared-statements.md).
 */
export function columnProblems(
  files: readonly SourceFile[],
  folders: readonly string[],
): readonly string[] {
  return files
    .filter(({ path }) => folders.some((folder) => isWithin(path, folder)))
    .flatMap(({ path, text }) => {
      const { code, strings, templates } = scan(text);
      const texts = new Map(strings);
      for (const { start, text: template } of templates) texts.set(start, template);
      const inTexts = [...texts].filter(([, sql]) => starText.test(sql)).map(([start]) => start);
      const inCode = [...code.matchAll(starCall)].map(({ index }) => index);
      return [...inTexts, ...inCode].map(
        (start) => `${path}:${lineAt(text, start)} has a statement with *: name the columns.`,
      );
    });
}
