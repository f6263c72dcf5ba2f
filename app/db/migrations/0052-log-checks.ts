import { Migration } from '@mikro-orm/migrations';

/** Adds how far the audit log has been checked, and what was found. */
export class Migration0052LogChecks extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table log_walks (
  name text not null primary key,
  began_at timestamptz(3) not null,
  size bigint not null,
  checked bigint not null,
  place text null,
  ended_at timestamptz(3) null,
  constraint log_walks_name check (name in ('entries', 'trails'))
);

create table log_findings (
  user_id uuid not null,
  tenant_id text not null,
  resource_type text not null,
  resource_id text not null,
  seq bigint not null,
  defect text not null,
  found_at timestamptz(3) not null default now(),
  primary key (user_id, tenant_id, resource_type, resource_id, seq)
);

alter table log_walks enable row level security;
alter table log_walks force row level security;
create policy log_walks_service on log_walks to probatio_service using (true) with check (true);
alter table log_findings enable row level security;
alter table log_findings force row level security;
create policy log_findings_service on log_findings to probatio_service
  using (true)
  with check (true);
grant select, insert, update, delete on log_walks, log_findings to probatio_service;
`;
