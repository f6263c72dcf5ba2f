import { ownRows, serviceRows } from './rows.ts';

/** Work of workers, idempotent requests and maintenance. */
export const work = `
-- Side effects of transactions, which workers carry out at least once. The app login may only
-- insert, and may not delete the object of a sealed version.
create table outbox (
  id uuid primary key,
  kind text not null,
  payload text not null,
  attempts int not null default 0,
  available_at timestamptz(3) not null default now(),
  created_at timestamptz(3) not null default now(),
  user_id uuid,
  parked_at timestamptz(3)
);
create index outbox_user on outbox (user_id) where user_id is not null;
create index outbox_due on outbox (available_at) where parked_at is null;
create index outbox_parked on outbox (parked_at) where parked_at is not null;
create index outbox_mail_to on outbox ((payload::json ->> 'to')) where kind = 'email';
create index outbox_key on outbox ((payload::json ->> 'key'))
  where kind in ('object.delete', 'multipart.abort');
${serviceRows('outbox')}
create policy outbox_append on outbox for insert to probatio_app
  with check (kind in ('object.delete', 'multipart.abort')
    and not (kind = 'object.delete' and exists (
      select 1 from document_versions
      where document_versions.storage_key = outbox.payload::json ->> 'key'
        and document_versions.status = 'SEALED')));
grant insert on outbox to probatio_app;
grant select, insert, update, delete on outbox to probatio_service;

-- Jobs that users submitted. One that is over changes no more, except that a failed one is
-- retried.
create table jobs (
  id uuid primary key,
  user_id uuid not null,
  tenant_id text not null,
  type text not null,
  payload text,
  state text not null default 'PENDING',
  attempts int not null default 0,
  token bigint not null default 0,
  held_until timestamptz(3),
  available_at timestamptz(3) not null default now(),
  request_id uuid not null,
  original_id uuid,
  retry_count int not null default 0,
  result text,
  error text,
  retryable boolean,
  submitted_at timestamptz(3) not null default now(),
  finished_at timestamptz(3),
  constraint jobs_finished check ((state in ('PENDING', 'ACTIVE')) = (finished_at is null)),
  constraint jobs_lease check ((state = 'ACTIVE') = (held_until is not null)),
  constraint jobs_state check (state in ('PENDING', 'ACTIVE', 'COMPLETED', 'FAILED', 'RETRIED'))
);
create index jobs_owner on jobs (user_id, tenant_id, id);
create index jobs_open on jobs (tenant_id, user_id, state) where state in ('PENDING', 'ACTIVE');
create index jobs_due on jobs (id) where state in ('PENDING', 'ACTIVE');
create index jobs_finished_at on jobs (finished_at, id) where finished_at is not null;
create index jobs_finished_in_tenant on jobs (tenant_id, finished_at, id)
  where finished_at is not null;
create index jobs_failed on jobs (finished_at, id) where state = 'FAILED';
create index jobs_failed_in_tenant on jobs (tenant_id, finished_at, id) where state = 'FAILED';
create index jobs_failed_of_user on jobs (user_id, tenant_id, finished_at, id)
  where state = 'FAILED';
${ownRows('jobs')}
create policy jobs_insert on jobs as restrictive for insert to probatio_app
  with check (state = 'PENDING' and attempts = 0 and result is null and error is null);
grant select, insert on jobs to probatio_app;
grant select, insert, update, delete on jobs to probatio_service;
create trigger over before update on jobs for each row
  when (current_setting('is_superuser') = 'off' and (old.state in ('COMPLETED', 'RETRIED')
    or old.state = 'FAILED' and new.state <> 'RETRIED'))
  execute function refuse_change();

-- How many jobs of a tenant are over, by state.
create table job_totals (
  tenant_id text not null,
  state text not null,
  count bigint not null,
  primary key (tenant_id, state)
);
${serviceRows('job_totals')}
grant select, insert, update on job_totals to probatio_service;
-- The rows are locked in the order of their keys, so that concurrent statements cannot deadlock.
create function count_updated_jobs() returns trigger
language plpgsql as $$
begin
  insert into job_totals as t (tenant_id, state, count)
    select tenant_id, state, sum(change) from (
      select tenant_id, state, 1 as change from later where finished_at is not null
      union all
      select tenant_id, state, -1 from before where finished_at is not null
    ) as changed
    group by tenant_id, state having sum(change) <> 0
    order by tenant_id, state
  on conflict (tenant_id, state) do update set count = t.count + excluded.count;
  return null;
end $$;

create function count_deleted_jobs() returns trigger
language plpgsql as $$
begin
  insert into job_totals as t (tenant_id, state, count)
    select tenant_id, state, -count(1) from before where finished_at is not null
    group by tenant_id, state order by tenant_id, state
  on conflict (tenant_id, state) do update set count = t.count + excluded.count;
  return null;
end $$;

create trigger totals_updated after update on jobs
  referencing old table as before new table as later
  for each statement execute function count_updated_jobs();
create trigger totals_deleted after delete on jobs referencing old table as before
  for each statement execute function count_deleted_jobs();

-- Idempotency keys, each with the claim of a running request or with its response.
create table idempotency_keys (
  user_id uuid not null,
  key_hash text not null,
  tenant_id text not null,
  request_hash text not null,
  claim_id uuid not null,
  claimed_until timestamptz(3) not null,
  status int,
  response text,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, key_hash)
);
create index idempotency_keys_age on idempotency_keys (created_at);
${ownRows('idempotency_keys')}
grant select, insert, update, delete on idempotency_keys to probatio_app, probatio_service;

-- Locks of maintenance tasks, each held by one run at a time.
create table maintenance_locks (
  task text primary key,
  token bigint not null,
  held_until timestamptz(3)
);
${serviceRows('maintenance_locks')}
grant select, insert, update on maintenance_locks to probatio_service;

-- Runs of maintenance tasks. One without an end whose lease expired was interrupted.
create table maintenance_runs (
  id uuid primary key,
  task text not null,
  dry_run boolean not null,
  requested_by text not null,
  counts text not null default '{}',
  started_at timestamptz(3) not null,
  held_until timestamptz(3),
  ended_at timestamptz(3),
  error text,
  constraint maintenance_runs_error check (error is null or ended_at is not null),
  constraint maintenance_runs_lease check ((held_until is null) = (ended_at is not null))
);
create index maintenance_runs_task on maintenance_runs (task, id);
${serviceRows('maintenance_runs')}
grant select, insert, update, delete on maintenance_runs to probatio_service;
`;
