/**
 * The sources of two migrations by the names of their files, which run after all others: columns,
 * and indexes on a table and on the log with its partitions.
 */
export function composeMigrations(): Readonly<Record<string, string>> {
  return {
    '9001-upgrade-columns.ts': compose('Migration9001UpgradeColumns', true, [
      'alter table documents add column upgrade_remark text',
      'alter table audit_log add column upgrade_remark text',
    ]),
    '9002-upgrade-indexes.ts': compose('Migration9002UpgradeIndexes', false, [
      'create index concurrently documents_upgrade on documents (upgrade_remark, id)',
      'create index concurrently audit_log_upgrade on audit_log (action, id)',
    ]),
  };
}

function compose(name: string, isTransactional: boolean, statements: readonly string[]): string {
  return `import { Migration } from '@mikro-orm/migrations';

export class ${name} extends Migration {
  override isTransactional(): boolean {
    return ${isTransactional};
  }

  override up(): void {
    for (const statement of ${JSON.stringify(statements)}) this.addSql(statement);
  }
}
`;
}

/** Indexes of the migrations and whether they are valid; the parent's is once all are attached. */
export const madeIndexes = `
  select c.relname as name, i.indisvalid as "isValid"
  from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname like '%\\_upgrade'`;
