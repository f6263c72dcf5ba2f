import { Migration } from '@mikro-orm/migrations';

/** Adds the jobs that users submit, and the counts of those that are over. */
export class Migration0040Jobs extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table jobs (
  id uuid not null primary key,
  user_id uuid not null,
  tenant_id text not null,
  type text not null,
  payload text null,
  state text not null default 'PENDING',
  attempts int not null default 0,
  token bigint not null default 0,
  held_until timestamptz(3) null,
  available_at timestamptz(3) not null default now(),
  request_id uuid not null,
  original_id uuid null,
  retry_count int not null default 0,
  result text null,
  error text null,
  retryable boolean null,
  submitted_at timestamptz(3) not null default now(),
  finished_at timestamptz(3) null,
  constraint jobs_state check (state in ('PENDING', 'ACTIVE', 'COMPLETED', 'FAILED', 'RETRIED')),
  constraint jobs_lease check ((state = 'ACTIVE') = (held_until is not null)),
  constraint jobs_finished check ((state in ('PENDING', 'ACTIVE')) = (finished_at is null))
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

create table job_totals (
  tenant_id text not null,
  state text not null,
  count bigint not null,
  primary key (tenant_id, state)
);

alter table jobs enable row level security;
alter table jobs force row level security;
create policy jobs_owner on jobs to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy jobs_service on jobs to probatio_service using (true) with check (true);
create policy jobs_insert on jobs as restrictive for insert to probatio_app
  with check (state = 'PENDING' and attempts = 0 and result is null and error is null);
grant select, insert on jobs to probatio_app;
grant select, insert, update, delete on jobs to probatio_service;

alter table job_totals enable row level security;
alter table job_totals force row level security;
create policy job_totals_service on job_totals to probatio_service using (true) with check (true);
grant select, insert, update on job_totals to probatio_service;

create trigger over before update on jobs for each row
  when (current_setting('is_superuser') = 'off' and (old.state in ('COMPLETED', 'RETRIED')
    or old.state = 'FAILED' and new.state <> 'RETRIED'))
  execute function refuse_change();

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
`;
