import { scan } from '../source/scan.ts';
import { isWithin, lineAt, type SourceFile } from '../source/sources.ts';

/** Calls of Kysely that put `*` for columns into a statement. */
const starCall = /\.(?:selectAll|returningAll)\b/g;

/** SQL with `*` for columns. */
const starText = /\b(?:select|returning)\s+(?:[^;]*,\s*)?(?:\w+\.)?\*(?=\s|,|;|\)|$)/i;

/** Files of `app/` whose statements may have `*`, each with the reason. */
const exceptions: ReadonlyMap<string, string> = new Map([
  ['app/usage/drift.ts', 'a rare repair inserts rows that a function returns with their own type'],
]);

/** Folders of migrations and their SQL. */
const runOnce = ['app/db/migrations', 'app/db/baseline'];

/**
 * Finds statements of the app with `*` for columns. They are never prepared
 * (docs/adr/0012-prepared-statements.md). Migrations run once.
 */
export function columnProblems(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => isWithin(path, 'app') && !runOnce.some((once) => isWithin(path, once)))
    .filter(({ path }) => !exceptions.has(path))
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
