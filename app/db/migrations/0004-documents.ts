import { Migration } from '@mikro-orm/migrations';

/** Adds document versions, sharing, and idempotency keys. */
export class Migration0004Documents extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table document_versions (
  document_id uuid not null,
  version int not null,
  user_id uuid not null,
  tenant_id text not null,
  storage_key text not null,
  object_version text not null,
  file_size bigint not null,
  file_hash text not null,
  encrypted_metadata text not null,
  status text not null default 'PENDING',
  created_at timestamptz(3) not null default now(),
  sealed_at timestamptz(3) null,
  proof_id uuid null,
  primary key (document_id, version)
);
-- The owner sees no row of a table with forced row-level security, and Postgres checks foreign
-- keys as the owner.
alter table documents no force row level security;
insert into document_versions
  select id, 1, user_id, tenant_id, storage_key, object_version, file_size, file_hash,
    encrypted_metadata, status, created_at, sealed_at, proof_id
  from documents;
create index document_versions_pending on document_versions (created_at) where status = 'PENDING';
alter table document_versions
  add constraint document_versions_hash unique (user_id, file_hash);
alter table document_versions
  add constraint document_versions_storage_key unique (storage_key);
alter table document_versions
  add constraint document_versions_status check (status in ('PENDING', 'SEALED', 'EXPIRED'));
alter table document_versions
  add constraint document_versions_sealed
    check ((status = 'SEALED') = (proof_id is not null and sealed_at is not null));
alter table document_versions
  add constraint document_versions_document_id_foreign foreign key (document_id)
    references documents (id) on update no action on delete cascade;

alter table documents drop constraint documents_storage_key;
alter table documents drop constraint documents_user_hash;
alter table documents drop constraint documents_sealed;
alter table documents drop constraint documents_status;
alter table documents
  drop column storage_key, drop column object_version, drop column file_size,
  drop column file_hash, drop column encrypted_metadata, drop column status,
  drop column sealed_at, drop column proof_id;
alter table documents add version int not null default 1, add revision int not null default 1;

create table document_shares (
  id uuid not null,
  user_id uuid not null,
  tenant_id text not null,
  document_id uuid not null,
  recipient_ref uuid not null,
  recipient_user_id uuid null,
  wrapped_key text not null,
  permissions text[] not null,
  expires_at timestamptz(3) null,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create index document_shares_received on document_shares (recipient_user_id, id);
alter table document_shares
  add constraint document_shares_recipient_ref unique (document_id, recipient_ref);
alter table document_shares
  add constraint document_shares_document_id_foreign foreign key (document_id)
    references documents (id) on update no action on delete cascade;
alter table documents force row level security;

create table share_recipients (
  user_id uuid not null,
  recipient_ref uuid not null,
  tenant_id text not null,
  recipient_user_id uuid null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, recipient_ref)
);

create table sharing_keys (
  user_id uuid not null,
  tenant_id text not null,
  public_key text not null,
  wrapped_private_key text not null,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null,
  primary key (user_id)
);

create table idempotency_keys (
  user_id uuid not null,
  key_hash text not null,
  tenant_id text not null,
  request_hash text not null,
  claim_id uuid not null,
  claimed_until timestamptz(3) not null,
  status int null,
  response text null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, key_hash)
);
create index idempotency_keys_age on idempotency_keys (created_at);

alter table upload_sessions drop constraint upload_sessions_status;
alter table upload_sessions
  add constraint upload_sessions_status
    check (status in ('IN_PROGRESS', 'COMPLETED', 'ABORTED', 'EXPIRED'));
create index upload_sessions_open on upload_sessions (expires_at) where status = 'IN_PROGRESS';
create index upload_sessions_completed on upload_sessions (completed_at) where status = 'COMPLETED';

alter table document_versions enable row level security;
alter table document_versions force row level security;
create policy document_versions_owner on document_versions to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true)
    and exists (select 1 from documents where documents.id = document_versions.document_id
      and documents.user_id = document_versions.user_id));
create policy document_versions_service on document_versions to probatio_service
  using (true)
  with check (true);
alter table document_shares enable row level security;
alter table document_shares force row level security;
create policy document_shares_owner on document_shares to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy document_shares_insert on document_shares as restrictive for insert to probatio_app
  with check (exists (select 1 from documents where documents.id = document_shares.document_id
    and documents.user_id = document_shares.user_id));
create policy document_shares_update on document_shares as restrictive for update to probatio_app
  with check (exists (select 1 from documents where documents.id = document_shares.document_id
    and documents.user_id = document_shares.user_id));
create policy document_shares_service on document_shares to probatio_service
  using (true)
  with check (true);
alter table share_recipients enable row level security;
alter table share_recipients force row level security;
create policy share_recipients_owner on share_recipients to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy share_recipients_service on share_recipients to probatio_service
  using (true)
  with check (true);
alter table sharing_keys enable row level security;
alter table sharing_keys force row level security;
create policy sharing_keys_owner on sharing_keys to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy sharing_keys_service on sharing_keys to probatio_service
  using (true)
  with check (true);
alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy idempotency_keys_owner on idempotency_keys to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy idempotency_keys_service on idempotency_keys to probatio_service
  using (true)
  with check (true);
create policy document_shares_recipient on document_shares for select to probatio_app
  using (document_shares.recipient_user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and document_shares.tenant_id = current_setting('app.tenant_id', true)
    and (document_shares.expires_at is null or document_shares.expires_at > now()));
create policy documents_shared on documents for select to probatio_app
  using (exists (select 1 from document_shares where document_shares.document_id = documents.id
    and document_shares.recipient_user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and document_shares.tenant_id = current_setting('app.tenant_id', true)
    and (document_shares.expires_at is null or document_shares.expires_at > now())));
create policy document_versions_shared on document_versions for select to probatio_app
  using (exists (select 1 from document_shares
    where document_shares.document_id = document_versions.document_id
    and document_shares.recipient_user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and document_shares.tenant_id = current_setting('app.tenant_id', true)
    and (document_shares.expires_at is null or document_shares.expires_at > now())));
alter policy document_keywords_owner on document_keywords
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true)
    and exists (select 1 from documents where documents.id = document_keywords.document_id
      and documents.user_id = document_keywords.user_id));
alter policy upload_parts_owner on upload_parts
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true)
    and exists (select 1 from upload_sessions where upload_sessions.id = upload_parts.session_id
      and upload_sessions.user_id = upload_parts.user_id));

grant select, insert, update, delete
  on document_versions, document_shares, share_recipients, sharing_keys, idempotency_keys
  to probatio_app, probatio_service;
`;
