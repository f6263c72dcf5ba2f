import { serviceRows } from './rows.ts';

/** Counts, marks and checks of the log. */
export const auditRecords = `
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

-- Numbers of trails at which the log is not whole.
create table log_findings (
  trail_id bigint not null,
  seq bigint not null,
  defect text not null,
  found_at timestamptz(3) not null default now(),
  primary key (trail_id, seq)
);
${serviceRows('log_findings')}
grant select, insert, update, delete on log_findings to probatio_service;
`;
