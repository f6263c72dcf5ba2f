import { Migration } from '@mikro-orm/migrations';

/**
 * Lets closures, purges and maintenance find the rows that they remove by an index, however many
 * others there are. An upload is marked once a document version is made of its file.
 */
export class Migration0054Batches extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter table upload_sessions no force row level security;
alter table document_versions no force row level security;
alter table upload_sessions disable trigger user;
alter table upload_sessions add is_used boolean not null default false;
update upload_sessions set is_used = true
  where storage_key in (select storage_key from document_versions);
alter table upload_sessions enable trigger user;
alter table upload_sessions force row level security;
alter table document_versions force row level security;
drop index upload_sessions_completed;
create index upload_sessions_unused on upload_sessions (completed_at, id)
  where status = 'COMPLETED' and not is_used;
create index upload_sessions_unused_of_user on upload_sessions (user_id, tenant_id, id)
  where not is_used;
drop index upload_sessions_ended;
create index upload_sessions_ended on upload_sessions ((coalesce(aborted_at, expires_at)))
  where status in ('ABORTED', 'EXPIRED');

create index document_versions_unsealed on document_versions (user_id, tenant_id, document_id)
  where status <> 'SEALED';
create index document_shares_given on document_shares (user_id, id);
create index known_addresses_age on known_addresses (last_login_at);
create index outbox_mail_to on outbox ((payload::json ->> 'to')) where kind = 'email';
create index outbox_key on outbox ((payload::json ->> 'key'))
  where kind in ('object.delete', 'multipart.abort');
`;
