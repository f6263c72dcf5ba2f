import test from 'ava';
import { tableProblems } from './rules/tables.ts';
import { readSources, type SourceFile } from './source/sources.ts';
import { tableExceptions, tableOwners } from './table-owners.ts';

const owners = { documents: ['app/documents'], uploads: ['app/uploads', 'app/sealing'] };

const kept: readonly SourceFile[] = [
  {
    path: 'app/db/tables/all.ts',
    text: `
      const a = defineEntity({ tableName: 'documents' });
      const b = defineEntity({ tableName: 'uploads' });`,
  },
  { path: 'app/db/migrating/migrate.ts', text: 'sql`delete from documents`;' },
  { path: 'app/documents/rows.ts', text: "tx.selectFrom('documents');" },
  { path: 'app/sealing/rows.ts', text: "tx.updateTable('uploads');" },
  { path: 'app/uploads/rows.ts', text: "tx.deleteFrom('uploads');" },
];

function problems(text: string, path = 'app/sharing/rows.ts'): readonly string[] {
  return tableProblems([...kept, { path, text }], { owners, exceptions: [] });
}

test('only the owner of a table names it in SQL, or an exception says why another does', (t) => {
  const data = { owners: tableOwners, exceptions: tableExceptions };
  t.deepEqual(tableProblems(readSources(), data), []);
});

const foreign = [
  "tx.selectFrom('documents').select('id');",
  "tx.selectFrom('documents as d');",
  "tx.selectFrom(['shares as s', 'documents as d']);",
  "tx.selectFrom((eb) => eb.selectFrom('documents').as('inner'));",
  "tx.insertInto('documents').values({});",
  "tx\n  .updateTable('shares')\n  .from('documents as d');",
  "tx.deleteFrom('shares').using('documents');",
  "tx.selectFrom('shares').innerJoin('documents', 'documents.id', 'shares.id');",
  "tx.selectFrom('shares').leftJoin('documents as d', (join) => join);",
  'sql`select 1 from ${sql.table("documents")}`;',
  'sql`select 1 from documents where id = ${id}`;',
  'sql<{ id: string }>`select 1 from shares s join documents on true`;',
  'sql`select 1 from shares as s, documents d`;',
  'sql`insert into documents (id) values (${id})`;',
  'sql`update only documents set id = ${id}`;',
  'sql`${sql`DELETE FROM documents`} returning id`;',
  "type Table = 'shares' | 'documents';\ntx.deleteFrom(table).execute();",
] as const;

for (const text of foreign) {
  test(`a use of another owner's table is found: ${text}`, (t) => {
    const found = problems(text);
    t.is(found.length, 1);
    t.regex(
      found[0] ?? '',
      /^app\/sharing\/rows\.ts:\d names documents, which app\/documents owns: ask it\.$/,
    );
  });
}

const harmless = [
  "// tx.selectFrom('documents')",
  'const text = "tx.selectFrom(\'documents\')";',
  "tx.selectFrom('documents_old');",
  "tx.selectFrom('shares').select('documents.id');",
  "Buffer.from('documents');",
  'const text = `removed from documents`;',
  'sql`select documents from shares`;',
] as const;

for (const text of harmless) {
  test(`no use of a table is seen where there is none: ${text}`, (t) => {
    t.deepEqual(problems(text), []);
  });
}

test('an exception allows one table in one file', (t) => {
  const files = [...kept, { path: 'app/sharing/rows.ts', text: 'sql`table x from documents`' }];
  const exception = { table: 'documents', file: 'app/sharing/rows.ts', reason: 'A test needs it.' };
  t.deepEqual(tableProblems(files, { owners, exceptions: [exception] }), []);
  const unused = { ...exception, table: 'uploads' };
  const [problem, ...others] = tableProblems(files, { owners, exceptions: [exception, unused] });
  t.regex(
    problem ?? '',
    /^app\/sharing\/rows\.ts has an exception for uploads that it does not use/,
  );
  t.deepEqual(others, []);
});

test('a table without an owner, and an owner without a table or files, are found', (t) => {
  const data = { documents: ['app/documents'], old: ['app/gone'] };
  t.deepEqual(tableProblems(kept, { owners: data, exceptions: [] }), [
    'uploads has no owner: name one in table-owners.ts.',
    'old is no table: remove it from table-owners.ts.',
    'app/gone owns tables but holds no file: correct table-owners.ts.',
  ]);
});
