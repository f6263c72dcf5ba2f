import { Migration } from '@mikro-orm/migrations';

/** Adds the evidence exports that jobs have put into the object store. */
export class Migration0047EvidenceExports extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table evidence_exports (
  job_id uuid not null primary key,
  user_id uuid not null,
  tenant_id text not null,
  document_id uuid not null,
  storage_key text not null,
  object_version text not null,
  size bigint not null,
  hash text not null,
  expires_at timestamptz(3) not null,
  constraint evidence_exports_document unique (document_id),
  constraint evidence_exports_job_id_foreign foreign key (job_id)
    references jobs (id) on update no action on delete cascade,
  constraint evidence_exports_document_id_foreign foreign key (document_id)
    references documents (id) on update no action on delete cascade
);
create index evidence_exports_owner on evidence_exports (user_id, tenant_id);
create index evidence_exports_expiry on evidence_exports (expires_at);

alter table evidence_exports enable row level security;
alter table evidence_exports force row level security;
create policy evidence_exports_owner on evidence_exports to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy evidence_exports_service on evidence_exports to probatio_service
  using (true) with check (true);
grant select, delete on evidence_exports to probatio_app;
grant select, insert, update, delete on evidence_exports to probatio_service;
`;
