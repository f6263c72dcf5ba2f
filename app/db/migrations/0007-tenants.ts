import { Migration } from '@mikro-orm/migrations';

/** Makes rows unique for each tenant of a user: users of other issuers may have several tenants. */
export class Migration0007Tenants extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
-- Stop apps of the previous version first: they know only the old keys.
alter table share_recipients drop constraint share_recipients_pkey;
alter table share_recipients add primary key (user_id, tenant_id, recipient_ref);
alter table sharing_keys drop constraint sharing_keys_pkey;
alter table sharing_keys add primary key (user_id, tenant_id);
alter table document_versions drop constraint document_versions_hash;
alter table document_versions
  add constraint document_versions_hash unique (user_id, tenant_id, file_hash);
alter table audit_tallies drop constraint audit_tallies_pkey;
alter table audit_tallies add primary key
  (minute, user_id, tenant_id, action, actor_id, resource_type, resource_id, detail);
`;
