import { Migration } from '@mikro-orm/migrations';

/**
 * Adds the runs of all maintenance tasks, with those of the purge of accounts, which had a table of
 * their own, and lets messages of the outbox be parked.
 */
export class Migration0051MaintenanceRuns extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table maintenance_runs (
  id uuid not null primary key,
  task text not null,
  dry_run boolean not null,
  requested_by text not null,
  counts text not null default '{}',
  started_at timestamptz(3) not null,
  held_until timestamptz(3) null,
  ended_at timestamptz(3) null,
  error text null,
  constraint maintenance_runs_lease check ((held_until is null) = (ended_at is not null)),
  constraint maintenance_runs_error check (error is null or ended_at is not null)
);
create index maintenance_runs_task on maintenance_runs (task, id);

-- The owner sees no row of a table with forced row-level security.
alter table purge_runs no force row level security;
insert into maintenance_runs
    (id, task, dry_run, requested_by, counts, started_at, held_until, ended_at)
  select id, 'purge-accounts', dry_run, requested_by,
    json_build_object('purgedAccounts', purged_accounts, 'removedAuditTraces', removed_audit_traces,
      'removedEmails', removed_emails)::text,
    started_at, case when completed_at is null then started_at end, completed_at
  from purge_runs;
drop table purge_runs;

alter table maintenance_runs enable row level security;
alter table maintenance_runs force row level security;
create policy maintenance_runs_service on maintenance_runs to probatio_service
  using (true)
  with check (true);
grant select, insert, update, delete on maintenance_runs to probatio_service;

alter table outbox add column parked_at timestamptz(3) null;
drop index outbox_due;
create index outbox_due on outbox (available_at) where parked_at is null;
-- Messages that have failed more often until now are tried once more before they are parked.
alter table outbox no force row level security;
update outbox set attempts = 19 where attempts > 19;
alter table outbox force row level security;
create index outbox_parked on outbox (parked_at) where parked_at is not null;
`;
