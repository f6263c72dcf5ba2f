import { Migration } from '@mikro-orm/migrations';

/**
 * Forces row-level security on every table and grants the rights of the two logins. The roles
 * probatio_app and probatio_service exist before the first migration runs.
 */
export class Migration0002RowSecurity extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter table accounts enable row level security;
alter table accounts force row level security;
create policy accounts_service on accounts to probatio_service
  using (true)
  with check (true);
alter table audit_dead_letters enable row level security;
alter table audit_dead_letters force row level security;
create policy audit_dead_letters_service on audit_dead_letters to probatio_service
  using (true)
  with check (true);
alter table audit_entries enable row level security;
alter table audit_entries force row level security;
create policy audit_entries_owner on audit_entries to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy audit_entries_service on audit_entries to probatio_service
  using (true)
  with check (true);
alter table audit_sequences enable row level security;
alter table audit_sequences force row level security;
create policy audit_sequences_owner on audit_sequences to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy audit_sequences_service on audit_sequences to probatio_service
  using (true)
  with check (true);
alter table credentials enable row level security;
alter table credentials force row level security;
create policy credentials_service on credentials to probatio_service
  using (true)
  with check (true);
alter table documents enable row level security;
alter table documents force row level security;
create policy documents_owner on documents to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy documents_service on documents to probatio_service
  using (true)
  with check (true);
alter table document_keywords enable row level security;
alter table document_keywords force row level security;
create policy document_keywords_owner on document_keywords to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true)
    and exists (select 1 from documents where documents.id = document_keywords.document_id));
create policy document_keywords_service on document_keywords to probatio_service
  using (true)
  with check (true);
alter table key_envelopes enable row level security;
alter table key_envelopes force row level security;
create policy key_envelopes_owner on key_envelopes to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy key_envelopes_service on key_envelopes to probatio_service
  using (true)
  with check (true);
alter table outbox enable row level security;
alter table outbox force row level security;
create policy outbox_append on outbox for insert to probatio_app
  with check (true);
create policy outbox_service on outbox to probatio_service
  using (true)
  with check (true);
alter table registrations enable row level security;
alter table registrations force row level security;
create policy registrations_service on registrations to probatio_service
  using (true)
  with check (true);
alter table signing_keys enable row level security;
alter table signing_keys force row level security;
create policy signing_keys_service on signing_keys to probatio_service
  using (true)
  with check (true);
alter table upload_sessions enable row level security;
alter table upload_sessions force row level security;
create policy upload_sessions_owner on upload_sessions to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy upload_sessions_service on upload_sessions to probatio_service
  using (true)
  with check (true);
alter table upload_parts enable row level security;
alter table upload_parts force row level security;
create policy upload_parts_owner on upload_parts to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true)
    and exists (select 1 from upload_sessions where upload_sessions.id = upload_parts.session_id));
create policy upload_parts_service on upload_parts to probatio_service
  using (true)
  with check (true);

grant usage on schema public to probatio_app, probatio_service;
grant select, insert, update, delete
  on documents, document_keywords, upload_sessions, upload_parts, key_envelopes, audit_sequences
  to probatio_app;
grant select, insert on audit_entries to probatio_app;
grant insert on outbox to probatio_app;
grant select, insert, update, delete on
  accounts, registrations, credentials, documents, document_keywords, upload_sessions,
  upload_parts, key_envelopes, audit_sequences, audit_entries, audit_dead_letters, outbox
  to probatio_service;
grant select, insert on signing_keys to probatio_service;
`;
