import { Migration } from '@mikro-orm/migrations';

/**
 * Lets downloads be of the archives of evidence exports, and lets a reader's downloads be counted,
 * so that they can be limited.
 */
export class Migration0058DownloadsOfExports extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter table downloads
  alter column version drop not null,
  add column job_id uuid null,
  add constraint downloads_content check ((version is null) = (job_id is not null));
create index downloads_reader on downloads (reader_id);

drop policy downloads_begin on downloads;
create policy downloads_begin on downloads for insert to probatio_app
  with check (reader_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true)
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
  using (reader_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
grant select on downloads to probatio_app;
`;
