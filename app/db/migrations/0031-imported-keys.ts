import { Migration } from '@mikro-orm/migrations';

/**
 * Adds to the registry of signing keys whether the HSM generated a key. Keeps the app login from
 * inserting entries of signing keys.
 */
export class Migration0031ImportedKeys extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

// The service login may not update the column: a key is imported for ever.
const sql = `
alter table signing_keys add column imported boolean not null default false;

create policy audit_entries_actions on audit_entries as restrictive for insert to probatio_app
  with check (not starts_with(action, 'key.') and action <> 'vault.marked');
`;
