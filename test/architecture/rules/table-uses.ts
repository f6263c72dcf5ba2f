import { scan, type Scan } from '../source/scan.ts';
import { isWithin, lineAt, type SourceFile } from '../source/sources.ts';

/** A place at which a file names a table in SQL. */
export interface TableUse {
  readonly table: string;
  readonly file: string;
  readonly line: number;
}

interface Mention {
  readonly name: string;
  readonly offset: number;
}

const methods =
  String.raw`\.(?:selectFrom|insertInto|updateTable|deleteFrom|mergeInto|using|` +
  String.raw`(?:inner|left|right|full|cross)Join(?:Lateral)?)\s*\(`;

/** Matches the calls of Kysely whose first argument names tables; `Buffer.from` is none of them. */
const calls = new RegExp(
  String.raw`${methods}|\b(?:sql|dynamic)\.table\s*\(|(?<!\b[A-Z]\w*)\.from\s*\(`,
  'g',
);

/** Matches a call to which a variable gives the table. */
const variableCalls = new RegExp(String.raw`${methods}\s*[a-z]\w*\s*[,)]`);

const clauses = /\b(?:from|join|update|into|using)\s+/gi;
const listed =
  /(?:(?:only|lateral)\s+)?(?:public\.)?"?(\w+)"?(?:\s+(?:as\s+)?"?\w+"?)?\s*(,\s*)?/iy;

/** Reads the names of the tables from the definitions of the entities. */
export function knownTables(files: readonly SourceFile[]): ReadonlySet<string> {
  const definitions = files.filter(
    ({ path, text }) => isWithin(path, 'app') && text.includes('defineEntity('),
  );
  return new Set(
    definitions.flatMap(({ text }) => {
      const { code, strings } = scan(text);
      return [...code.matchAll(/\btableName:\s*(?=['"`])/g)].flatMap(
        (found) => strings.get(found.index + found[0].length) ?? [],
      );
    }),
  );
}

/** Finds where a file names a table, in calls of Kysely and in raw SQL. */
export function tableUses(file: SourceFile, tables: ReadonlySet<string>): readonly TableUse[] {
  const parts = scan(file.text);
  const mentions = [...namedInCalls(parts), ...namedForVariables(parts), ...namedInSql(parts)];
  const uses = mentions
    .filter(({ name }) => tables.has(name))
    .map(({ name, offset }) => ({
      table: name,
      file: file.path,
      line: lineAt(file.text, offset),
    }));
  return [...new Map(uses.map((use) => [`${use.table}:${use.line}`, use])).values()];
}

function namedInCalls({ code, strings }: Scan): readonly Mention[] {
  return [...code.matchAll(calls)].flatMap((call) =>
    stringsOfFirstArgument(code, call.index + call[0].length, strings).map(({ name, offset }) => ({
      // An alias follows the name: `documents as d`.
      name: name.trim().split(/\s/, 1)[0] ?? '',
      offset,
    })),
  );
}

/** Returns every string of a file that has a call with a variable: each may be the table. */
function namedForVariables({ code, strings }: Scan): readonly Mention[] {
  if (!variableCalls.test(code)) return [];
  return [...strings].map(([offset, name]) => ({ name, offset }));
}

/** Returns the strings of a call's first argument, also in an array, but none of nested calls. */
function stringsOfFirstArgument(
  code: string,
  from: number,
  strings: Scan['strings'],
): readonly Mention[] {
  const found: Mention[] = [];
  let depth = 0;
  let brackets = 0;
  for (let offset = from; offset < code.length && depth >= 0; offset += 1) {
    const char = code[offset] ?? '';
    if ('({'.includes(char)) depth += 1;
    else if (')}'.includes(char)) depth -= 1;
    else if (char === '[') brackets += 1;
    else if (char === ']') brackets -= 1;
    else if (char === ',' && depth === 0 && brackets === 0) break;
    else if (depth === 0 && strings.has(offset)) {
      found.push({ name: strings.get(offset) ?? '', offset });
    }
  }
  return found;
}

function namedInSql({ code, templates }: Scan): readonly Mention[] {
  return templates
    .filter(({ start }) => /\bsql\s*(?:<[^;`]*>\s*)?$/.test(code.slice(0, start)))
    .flatMap(({ start, text }) =>
      [...text.matchAll(clauses)]
        .flatMap((clause) => namesInList(text, clause.index + clause[0].length))
        .map((name) => ({ name, offset: start })),
    );
}

/** Reads `documents d, document_versions as v` from an offset of a statement. */
function namesInList(statement: string, from: number): readonly string[] {
  const names: string[] = [];
  listed.lastIndex = from;
  let comma: string | undefined;
  do {
    const found = listed.exec(statement) ?? [];
    comma = found[2];
    if (found[1] !== undefined) names.push(found[1].toLowerCase());
  } while (comma !== undefined);
  return names;
}
