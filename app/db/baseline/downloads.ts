import { callerId, callerTenant, ownRows, serviceRows, withoutStatistics } from './rows.ts';

const isReader = `reader_id = ${callerId} and tenant_id = ${callerTenant}`;

/** Archives of evidence, and downloads. */
export const downloads = `
-- Archives of evidence that jobs made. A stored file without a row is garbage.
create table evidence_exports (
  job_id uuid primary key,
  user_id uuid not null,
  tenant_id text not null,
  document_id uuid not null,
  storage_key text not null,
  object_version text not null,
  size bigint not null,
  hash text not null,
  expires_at timestamptz(3) not null,
  constraint evidence_exports_document unique (document_id),
  constraint evidence_exports_document_id_foreign foreign key (document_id)
    references documents (id) on delete cascade,
  constraint evidence_exports_job_id_foreign foreign key (job_id) references jobs (id)
    on delete cascade
);
create index evidence_exports_owner on evidence_exports (user_id, tenant_id);
create index evidence_exports_expiry on evidence_exports (expires_at);
create index evidence_exports_key on evidence_exports (storage_key);
${ownRows('evidence_exports')}
grant select, delete on evidence_exports to probatio_app;
grant select, insert, update, delete on evidence_exports to probatio_service;

-- Responses with bytes of files, stored before the first byte, until they are audit entries.
create table downloads (
  id uuid primary key,
  user_id uuid not null,
  tenant_id text not null,
  document_id uuid not null,
  version int,
  file_hash text not null,
  reader_id uuid not null,
  share_id uuid,
  request_id uuid not null,
  is_part boolean not null,
  began_at timestamptz(3) not null default now(),
  held_until timestamptz(3),
  ended_at timestamptz(3),
  sent bigint,
  is_complete boolean not null default false,
  job_id uuid,
  constraint downloads_complete check (not is_complete or sent is not null),
  constraint downloads_content check ((version is null) = (job_id is not null)),
  constraint downloads_lease check ((held_until is null) = (ended_at is not null)),
  constraint downloads_sent check (sent is null or ended_at is not null)
);
create index downloads_owner on downloads (user_id);
create index downloads_held on downloads (held_until) where held_until is not null;
create index downloads_reader on downloads (reader_id);
${serviceRows('downloads')}
${withoutStatistics('downloads', 'user_id')}
create policy downloads_begin on downloads for insert to probatio_app
  with check (${isReader}
    and ended_at is null
    and (exists (select 1 from document_versions
        where document_versions.document_id = downloads.document_id
          and document_versions.version = downloads.version
          and document_versions.user_id = downloads.user_id
          and document_versions.tenant_id = downloads.tenant_id
          and document_versions.file_hash = downloads.file_hash)
      and (share_id is null and user_id = reader_id
        or exists (select 1 from document_shares
          where document_shares.id = downloads.share_id
            and document_shares.document_id = downloads.document_id
            and document_shares.recipient_user_id = downloads.reader_id))
      or exists (select 1 from evidence_exports
        where evidence_exports.job_id = downloads.job_id
          and evidence_exports.document_id = downloads.document_id
          and evidence_exports.user_id = downloads.user_id
          and evidence_exports.tenant_id = downloads.tenant_id
          and evidence_exports.hash = downloads.file_hash)
      and share_id is null and user_id = reader_id));
create policy downloads_reader on downloads for select to probatio_app
  using (${isReader});
grant select, insert on downloads to probatio_app;
grant select, insert, update, delete on downloads to probatio_service;
`;
