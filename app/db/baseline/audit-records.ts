import { ownRows, serviceRows } from './rows.ts';

/** Numbers, counts, marks and checks of the log. */
export const auditRecords = `
-- The last number of each resource. Appends lock the row, so that numbers have no gaps.
create table audit_sequences (
  user_id uuid not null,
  resource_type text not null,
  resource_id text not null,
  tenant_id text not null,
  last_seq bigint not null,
  primary key (user_id, tenant_id, resource_type, resource_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
${ownRows('audit_sequences')}
create policy audit_sequences_insert on audit_sequences as restrictive for insert to probatio_app
  with check (last_seq = 1);
grant select, insert, update on audit_sequences to probatio_app;
grant select, insert, update, delete on audit_sequences to probatio_service;
create trigger forward before update on audit_sequences for each row
  when (current_setting('is_superuser') = 'off'
    and (row(new.user_id, new.tenant_id, new.resource_type, new.resource_id)
        is distinct from row(old.user_id, old.tenant_id, old.resource_type, old.resource_id)
      or new.last_seq < old.last_seq
      or new.last_seq <> old.last_seq + 1
        and not pg_has_role(session_user, 'probatio_service', 'usage')))
  execute function refuse_change();

-- The number of entries ever sealed, as the sum of slots, one of which each commit locks.
create table audit_totals (
  slot int primary key,
  sealed bigint not null
) with (fillfactor = 10);
insert into audit_totals (slot, sealed) values (0, 0);
${serviceRows('audit_totals')}
grant select, insert, update on audit_totals to probatio_service;

-- Counts of frequent events by minute. A worker makes one entry of each row.
create table audit_tallies (
  minute timestamptz(3) not null,
  user_id uuid not null,
  action text not null,
  actor_id text not null,
  resource_type text not null,
  resource_id text not null,
  detail text not null,
  tenant_id text not null,
  count int not null,
  primary key (minute, user_id, tenant_id, action, actor_id, resource_type, resource_id, detail)
) with (fillfactor = 50);
create index audit_tallies_user on audit_tallies (user_id);
${serviceRows('audit_tallies')}
grant select, insert, update, delete on audit_tallies to probatio_service;

-- The newest mark that was written to the object store, as a single row.
create table audit_marks (
  id int primary key,
  mark_id uuid not null,
  written_at timestamptz(3) not null,
  constraint audit_marks_single check (id = 1)
);
${serviceRows('audit_marks')}
grant select, insert, update on audit_marks to probatio_service;

-- Marks by which operators accepted what a restore lost, until the next mark.
create table restore_acceptances (
  mark_id uuid primary key,
  accepted_at timestamptz(3) not null default now(),
  lacking text[],
  recorded_at timestamptz(3)
);
${serviceRows('restore_acceptances')}
grant select, insert, update, delete on restore_acceptances to probatio_service;

-- The last walks of the task verify-log through the whole log, each in many runs.
create table log_walks (
  name text primary key,
  began_at timestamptz(3) not null,
  size bigint not null,
  checked bigint not null,
  place text,
  ended_at timestamptz(3),
  constraint log_walks_name check (name in ('entries', 'trails'))
);
${serviceRows('log_walks')}
grant select, insert, update, delete on log_walks to probatio_service;

-- Numbers of resources at which the log is not whole.
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
${serviceRows('log_findings')}
grant select, insert, update, delete on log_findings to probatio_service;
`;
