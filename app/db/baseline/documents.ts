import { ownRows, ownRowsUnder, serviceRows } from './rows.ts';

/** Uploads, and documents with their versions and the checks of their stored objects. */
export const documents = `
-- Multipart uploads, one file each.
create table upload_sessions (
  id uuid primary key,
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
  completing_until timestamptz(3),
  completed_at timestamptz(3),
  aborted_at timestamptz(3),
  object_version text,
  file_hash text,
  is_used boolean not null default false,
  constraint upload_sessions_key unique (storage_key),
  constraint upload_sessions_status
    check (status in ('IN_PROGRESS', 'COMPLETED', 'ABORTED', 'EXPIRED'))
);
create index upload_sessions_user on upload_sessions (user_id, status);
create index upload_sessions_open on upload_sessions (expires_at) where status = 'IN_PROGRESS';
create index upload_sessions_unused on upload_sessions (completed_at, id)
  where status = 'COMPLETED' and not is_used;
create index upload_sessions_unused_of_user on upload_sessions (user_id, tenant_id, id)
  where not is_used;
create index upload_sessions_ended on upload_sessions ((coalesce(aborted_at, expires_at)))
  where status in ('ABORTED', 'EXPIRED');
${ownRows('upload_sessions')}
grant select, insert, update, delete on upload_sessions to probatio_app, probatio_service;

-- Parts that are being received (claimed) or are stored (with size, etag and sha256).
create table upload_parts (
  session_id uuid not null,
  part_number int not null,
  user_id uuid not null,
  tenant_id text not null,
  size bigint,
  etag text,
  sha256 text,
  stored_at timestamptz(3),
  claim_id uuid,
  claimed_until timestamptz(3),
  primary key (session_id, part_number),
  constraint upload_parts_session_id_foreign foreign key (session_id)
    references upload_sessions (id) on delete cascade
);
${ownRowsUnder('upload_parts', 'session_id', 'upload_sessions')}
grant select, insert, update, delete on upload_parts to probatio_app, probatio_service;

-- Files that are kept as evidence, in one or more versions. Lists are in the order of places.
create table documents (
  id uuid primary key,
  user_id uuid not null,
  tenant_id text not null,
  created_at timestamptz(3) not null default now(),
  version int not null default 1,
  revision int not null default 1,
  place uuid not null
);
create index documents_user on documents (user_id, place);
${ownRows('documents')}
grant select, insert, update, delete on documents to probatio_app, probatio_service;
create function keep_document_id() returns trigger language plpgsql as $$
begin
  insert into removed_documents (id) values (old.id) on conflict do nothing;
  return null;
end;
$$;
create trigger id_kept after delete on documents for each row execute function keep_document_id();

-- Ids of documents that are gone. No row is ever deleted, as no id is used twice.
create table removed_documents (
  id uuid primary key
);
${serviceRows('removed_documents')}
create policy removed_documents_insert on removed_documents for insert to probatio_app
  with check (true);
create policy removed_documents_shown on removed_documents for select to probatio_app
  using (true);
grant select, insert on removed_documents to probatio_app, probatio_service;

-- Files with their hashes and proofs. A sealed one stays as it is.
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
  sealed_at timestamptz(3),
  proof_id uuid,
  content_commitment text,
  primary key (document_id, version),
  constraint document_versions_hash unique (user_id, tenant_id, file_hash),
  constraint document_versions_storage_key unique (storage_key),
  constraint document_versions_document_id_foreign foreign key (document_id)
    references documents (id) on delete cascade,
  constraint document_versions_sealed
    check ((status = 'SEALED') = (proof_id is not null and sealed_at is not null)),
  constraint document_versions_status check (status in ('PENDING', 'SEALED', 'EXPIRED'))
);
create index document_versions_pending on document_versions (created_at) where status = 'PENDING';
create index document_versions_unsealed on document_versions (user_id, tenant_id, document_id)
  where status <> 'SEALED';
${ownRowsUnder('document_versions', 'document_id', 'documents')}
create policy document_versions_insert on document_versions as restrictive for insert
  to probatio_app
  with check (status = 'PENDING');
grant select, insert, update, delete on document_versions to probatio_app, probatio_service;
create trigger sealed before update on document_versions for each row
  when (current_setting('is_superuser') = 'off'
    and old.status = 'SEALED' and new is distinct from old)
  execute function refuse_change();
create trigger kept before delete on document_versions for each row
  when (current_setting('is_superuser') = 'off'
    and old.status = 'SEALED' and not pg_has_role(session_user, 'probatio_service', 'usage'))
  execute function refuse_change();
-- The stored object of each version that is sealed is queued for checks.
create function queue_object_check() returns trigger language plpgsql as $$
begin
  insert into object_checks (document_id, version, user_id, tenant_id)
    values (new.document_id, new.version, new.user_id, new.tenant_id)
    on conflict do nothing;
  return null;
end;
$$;
create trigger check_queued after insert or update of status on document_versions for each row
  when (new.status = 'SEALED') execute function queue_object_check();

-- Hashes of keywords. Postgres would not use a GIN index on an array under forced row-level
-- security.
create table document_keywords (
  user_id uuid not null,
  keyword_hash text not null,
  document_id uuid not null,
  tenant_id text not null,
  place uuid not null,
  primary key (user_id, keyword_hash, place),
  constraint document_keywords_document_id_foreign foreign key (document_id)
    references documents (id) on delete cascade
);
create index document_keywords_document on document_keywords (document_id);
${ownRowsUnder('document_keywords', 'document_id', 'documents')}
grant select, insert, update, delete on document_keywords to probatio_app, probatio_service;

-- Results of the last checks of versions' stored objects, and the queue of the next.
create table object_checks (
  document_id uuid not null,
  version int not null,
  user_id uuid not null,
  tenant_id text not null,
  checked_at timestamptz(3),
  whole_at timestamptz(3),
  damage text,
  damaged_at timestamptz(3),
  unreadable_since timestamptz(3),
  available_at timestamptz(3) not null default now(),
  primary key (document_id, version),
  constraint object_checks_document_id_foreign foreign key (document_id) references documents (id)
    on delete cascade,
  constraint object_checks_damage check (damage in ('damaged', 'missing')),
  constraint object_checks_damaged check ((damage is null) = (damaged_at is null))
);
create index object_checks_queue on object_checks ((coalesce(checked_at, '-infinity')));
create index object_checks_damages on object_checks (damaged_at) where damage is not null;
create index object_checks_unreadable on object_checks (unreadable_since)
  where unreadable_since is not null;
${ownRowsUnder('object_checks', 'document_id', 'documents')}
create policy object_checks_insert on object_checks as restrictive for insert to probatio_app
  with check (checked_at is null and whole_at is null and damage is null);
grant select, insert on object_checks to probatio_app;
grant select, insert, update, delete on object_checks to probatio_service;
`;
