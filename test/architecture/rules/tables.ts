import type { TableException, TableOwners } from '../table-owners.ts';
import { isWithin, type SourceFile } from '../source/sources.ts';
import { knownTables, tableUses, type TableUse } from './table-uses.ts';

interface Ownership {
  readonly owners: TableOwners;
  readonly exceptions: readonly TableException[];
}

/**
 * Finds tables that a feature names in SQL though another one owns them, tables without an owner,
 * and data that no longer applies. `app/db` holds the schema and may name every table.
 */
export function tableProblems(
  files: readonly SourceFile[],
  { owners, exceptions }: Ownership,
): readonly string[] {
  const tables = knownTables(files);
  const foreign = foreignUses(files, owners);
  return [
    ...ownerProblems(files, tables, owners),
    ...foreign
      .filter((use) => !exceptions.some((each) => isSamePlace(each, use)))
      .map(
        ({ table, file, line }) =>
          `${file}:${line} names ${table}, which ${owners[table]?.join(' and ')} owns: ask it.`,
      ),
    ...exceptions
      .filter((each) => !foreign.some((use) => isSamePlace(each, use)))
      .map(
        ({ table, file }) =>
          `${file} has an exception for ${table} that it does not use: remove the exception.`,
      ),
  ];
}

/** Finds where a file of `app/` names a table that lies outside the folders of its owner. */
export function foreignUses(
  files: readonly SourceFile[],
  owners: TableOwners,
): readonly TableUse[] {
  const tables = knownTables(files);
  return files
    .filter(({ path }) => isWithin(path, 'app') && !isWithin(path, 'app/db'))
    .flatMap((file) => tableUses(file, tables))
    .filter(({ table, file }) => owners[table]?.some((folder) => isWithin(file, folder)) === false);
}

function ownerProblems(
  files: readonly SourceFile[],
  tables: ReadonlySet<string>,
  owners: TableOwners,
): readonly string[] {
  return [
    ...[...tables]
      .filter((table) => owners[table] === undefined)
      .map((table) => `${table} has no owner: name one in table-owners.ts.`),
    ...Object.keys(owners)
      .filter((table) => !tables.has(table))
      .map((table) => `${table} is no table: remove it from table-owners.ts.`),
    ...[...new Set(Object.values(owners).flat())]
      .filter((folder) => !files.some(({ path }) => isWithin(path, folder)))
      .map((folder) => `${folder} owns tables but holds no file: correct table-owners.ts.`),
  ];
}

function isSamePlace(exception: TableException, use: TableUse): boolean {
  return exception.table === use.table && exception.file === use.file;
}
