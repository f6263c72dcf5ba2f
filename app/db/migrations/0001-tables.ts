import { Migration } from '@mikro-orm/migrations';

/** Creates the tables of accounts, uploads, documents, envelopes, audit and outbox. */
export class Migration0001Tables extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table accounts (
  id uuid not null,
  tenant_id text not null,
  email text not null,
  status text not null,
  plan text not null,
  roles text[] not null,
  scopes text[] not null,
  created_at timestamptz(3) not null default now(),
  activated_at timestamptz(3) null,
  primary key (id)
);
alter table accounts
  add constraint accounts_email unique (email);
alter table accounts
  add constraint accounts_status check (status in ('PENDING_VALIDATION', 'ACTIVE'));

create table audit_dead_letters (
  entry_id uuid not null,
  reason text not null,
  attempts int not null,
  created_at timestamptz(3) not null default now(),
  primary key (entry_id)
);

create table audit_entries (
  id uuid not null,
  user_id uuid not null,
  tenant_id text not null,
  resource_type text not null,
  resource_id text not null,
  seq bigint not null,
  action text not null,
  canonical text not null,
  state text not null default 'PENDING',
  hash text null,
  signature text null,
  key_id text null,
  created_at timestamptz(3) not null default now(),
  sealed_at timestamptz(3) null,
  attempts int not null default 0,
  claim_id uuid null,
  claimed_until timestamptz(3) null,
  primary key (id)
);
create index audit_entries_unsealed on audit_entries (id) where state = 'PENDING';
alter table audit_entries
  add constraint audit_entries_seq unique (user_id, resource_type, resource_id, seq);
alter table audit_entries
  add constraint audit_entries_state check (state in ('PENDING', 'SEALED', 'DEAD'));
alter table audit_entries
  add constraint audit_entries_sealed
    check ((state = 'SEALED') = (hash is not null and signature is not null
      and key_id is not null and sealed_at is not null));

create table audit_sequences (
  user_id uuid not null,
  resource_type text not null,
  resource_id text not null,
  tenant_id text not null,
  last_seq bigint not null,
  primary key (user_id, resource_type, resource_id)
);

create table credentials (
  account_id uuid not null,
  salt text not null,
  verifier text not null,
  created_at timestamptz(3) not null default now(),
  primary key (account_id)
);

create table documents (
  id uuid not null,
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
  primary key (id)
);
create index documents_user on documents (user_id, id);
alter table documents
  add constraint documents_user_hash unique (user_id, file_hash);
alter table documents
  add constraint documents_storage_key unique (storage_key);
alter table documents
  add constraint documents_status check (status in ('PENDING', 'SEALED', 'EXPIRED'));
alter table documents
  add constraint documents_sealed
    check ((status = 'SEALED') = (proof_id is not null and sealed_at is not null));

create table document_keywords (
  user_id uuid not null,
  keyword_hash text not null,
  document_id uuid not null,
  tenant_id text not null,
  primary key (user_id, keyword_hash, document_id)
);
create index document_keywords_document on document_keywords (document_id);

create table key_envelopes (
  id uuid not null,
  user_id uuid not null,
  tenant_id text not null,
  kind text not null,
  encrypted_envelope text not null,
  version int not null default 1,
  keyring text null,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
alter table key_envelopes
  add constraint key_envelopes_kind unique (user_id, kind);
alter table key_envelopes
  add constraint key_envelopes_kind_known check (kind in ('MASTER'));

create table outbox (
  id uuid not null,
  kind text not null,
  payload text not null,
  attempts int not null default 0,
  available_at timestamptz(3) not null default now(),
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create index outbox_due on outbox (available_at);

create table registrations (
  id uuid not null,
  account_id uuid not null,
  salt text not null,
  verifier text not null,
  token_hash text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
create index registrations_account on registrations (account_id);
alter table registrations
  add constraint registrations_token unique (token_hash);

create table signing_keys (
  key_id text not null,
  purpose text not null,
  algorithm text not null,
  public_key text not null,
  generation int not null,
  registered_at timestamptz(3) not null default now(),
  primary key (key_id)
);

create table upload_sessions (
  id uuid not null,
  user_id uuid not null,
  tenant_id text not null,
  file_name text not null,
  file_size bigint not null,
  mime_type text not null,
  total_parts int not null,
  storage_key text not null,
  storage_upload_id text not null,
  status text not null default 'IN_PROGRESS',
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  completing_until timestamptz(3) null,
  completed_at timestamptz(3) null,
  aborted_at timestamptz(3) null,
  object_version text null,
  file_hash text null,
  primary key (id)
);
create index upload_sessions_user on upload_sessions (user_id, status);
alter table upload_sessions
  add constraint upload_sessions_key unique (storage_key);
alter table upload_sessions
  add constraint upload_sessions_status check (status in ('IN_PROGRESS', 'COMPLETED', 'ABORTED'));

create table upload_parts (
  session_id uuid not null,
  part_number int not null,
  user_id uuid not null,
  tenant_id text not null,
  size bigint null,
  etag text null,
  sha256 text null,
  stored_at timestamptz(3) null,
  claim_id uuid null,
  claimed_until timestamptz(3) null,
  primary key (session_id, part_number)
);
alter table credentials
  add constraint credentials_account_id_foreign foreign key (account_id)
    references accounts (id) on update no action on delete cascade;
alter table document_keywords
  add constraint document_keywords_document_id_foreign foreign key (document_id)
    references documents (id) on update no action on delete cascade;
alter table registrations
  add constraint registrations_account_id_foreign foreign key (account_id)
    references accounts (id) on update no action on delete cascade;
alter table upload_parts
  add constraint upload_parts_session_id_foreign foreign key (session_id)
    references upload_sessions (id) on update no action on delete cascade;
`;
