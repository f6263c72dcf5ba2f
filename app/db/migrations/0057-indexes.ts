import { Migration } from '@mikro-orm/migrations';

/** Finds envelopes and tallies of a user, and the export of a file, without reading all rows. */
export class Migration0057Indexes extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create index key_envelopes_owner on key_envelopes (user_id, tenant_id);
create index evidence_exports_key on evidence_exports (storage_key);
create index audit_tallies_user on audit_tallies (user_id);
`;
