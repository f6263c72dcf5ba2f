import { Migration } from '@mikro-orm/migrations';

/** Adds the downloads of files that are not audit entries yet. */
export class Migration0048Downloads extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table downloads (
  id uuid not null primary key,
  user_id uuid not null,
  tenant_id text not null,
  document_id uuid not null,
  version int not null,
  file_hash text not null,
  reader_id uuid not null,
  share_id uuid null,
  request_id uuid not null,
  is_part boolean not null,
  began_at timestamptz(3) not null default now(),
  held_until timestamptz(3) null,
  ended_at timestamptz(3) null,
  sent bigint null,
  is_complete boolean not null default false,
  constraint downloads_lease check ((held_until is null) = (ended_at is not null)),
  constraint downloads_sent check (sent is null or ended_at is not null),
  constraint downloads_complete check (not is_complete or sent is not null)
);
create index downloads_owner on downloads (user_id);
create index downloads_held on downloads (held_until) where held_until is not null;

alter table downloads enable row level security;
alter table downloads force row level security;
create policy downloads_begin on downloads for insert to probatio_app
  with check (reader_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true)
    and ended_at is null
    and exists (select 1 from document_versions
      where document_versions.document_id = downloads.document_id
        and document_versions.version = downloads.version
        and document_versions.user_id = downloads.user_id
        and document_versions.tenant_id = downloads.tenant_id
        and document_versions.file_hash = downloads.file_hash)
    and (share_id is null and user_id = reader_id
      or exists (select 1 from document_shares
        where document_shares.id = downloads.share_id
          and document_shares.document_id = downloads.document_id
          and document_shares.recipient_user_id = downloads.reader_id)));
create policy downloads_service on downloads to probatio_service using (true) with check (true);
grant insert on downloads to probatio_app;
grant select, insert, update, delete on downloads to probatio_service;

drop index audit_entries_tallied;
create index audit_entries_tallied on audit_entries (user_id)
  where state = 'PENDING' and action in
    ('auth.login_failed', 'audit.read', 'mfa.failed', 'document.downloaded', 'internal_key.used');
`;
