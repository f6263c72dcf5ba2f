/** Partitions of the log and of its seals, by the months of the ids. */
export const partitions = `
-- Makes the partitions of one month, unless they exist, and returns how many it made. The check
-- constraints spare attach the reading of the rows. Nobody but the owner has rights on a partition.
create function make_audit_month(month date) returns int language plpgsql
set search_path = pg_catalog, pg_temp set default_tablespace = ''
set default_table_access_method = heap as $$
declare
  first_id uuid := (lpad(to_hex((extract(epoch from month::timestamp at time zone 'UTC')
    * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  end_id uuid := (lpad(to_hex((extract(epoch from (month + interval '1 month') at time zone 'UTC')
    * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  parent text;
  name text;
  key text;
  made int := 0;
begin
  foreach parent in array array['audit_log', 'audit_seals'] loop
    name := parent || to_char(month, '_YYYY_MM');
    key := case parent when 'audit_log' then 'id' else 'entry_id' end;
    if to_regclass(format('public.%I', name)) is not null then
      continue;
    end if;
    execute format('create table public.%1$I (like public.%2$I including defaults
        including constraints including indexes including storage,
        constraint %3$I check (%4$I >= %5$L and %4$I < %6$L))
      with (autovacuum_vacuum_insert_threshold = 100000,
        autovacuum_vacuum_insert_scale_factor = 0)',
      name, parent, name || '_month', key, first_id, end_id);
    if parent = 'audit_log' then
      execute format('alter table public.%I alter column user_id set statistics 0', name);
      execute format('alter table public.%I add constraint %I unique (trail_id, seq)',
        name, name || '_seq');
    end if;
    execute format('alter table public.%I enable row level security', name);
    execute format('alter table public.%I force row level security', name);
    execute format('revoke all on public.%I from public, probatio_app, probatio_service', name);
    execute format('alter table public.%I attach partition public.%I for values from (%L) to (%L)',
      parent, name, first_id, end_id);
    made := made + 1;
  end loop;
  return made;
end;
$$;
-- Makes the partitions of this month and of the year after it. It takes no arguments and reads no
-- setting of the session, so that its caller can have nothing else done with the owner's rights.
create function make_audit_partitions() returns int language plpgsql security definer
set search_path = pg_catalog, pg_temp set default_tablespace = ''
set default_table_access_method = heap as $$
declare
  this_month date := date_trunc('month', now() at time zone 'UTC')::date;
  made int := 0;
begin
  -- Callers wait for each other; neither readers nor writers of the log wait.
  lock table only public.audit_log in share update exclusive mode;
  for n in 0..12 loop
    made := made + public.make_audit_month((this_month + make_interval(months => n))::date);
  end loop;
  return made;
end;
$$;
revoke execute on function make_audit_month(date) from public;
revoke execute on function make_audit_partitions() from public;
grant execute on function make_audit_partitions() to probatio_service;
-- A clock that lags at the beginning of a month makes ids of the month before.
select make_audit_month((date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date);
select make_audit_partitions();

-- Months of the log that were detached, with what their rows were. The owner writes this table and
-- the next one, so that row-level security is not forced.
create table audit_archives (
  month text primary key,
  state text not null,
  entries bigint,
  seals bigint,
  digest bytea,
  detached_at timestamptz(3) not null default now(),
  attached_at timestamptz(3),
  constraint audit_archives_month check (month ~ '^[0-9]{4}-[0-9]{2}$'),
  constraint audit_archives_state check (state in ('DETACHING', 'AWAY', 'ATTACHED')),
  constraint audit_archives_noted check ((state = 'DETACHING') = (digest is null)
    and (digest is null) = (entries is null) and (digest is null) = (seals is null)),
  constraint audit_archives_returned check ((state = 'ATTACHED') = (attached_at is not null))
);
alter table audit_archives enable row level security;
create policy audit_archives_shown on audit_archives for select to probatio_app using (true);
create policy audit_archives_service on audit_archives to probatio_service
  using (true) with check (true);
grant select on audit_archives to probatio_app, probatio_service;

-- Erasures that are carried out when a month is attached again.
create table audit_archive_erasures (
  month text not null,
  user_id uuid not null,
  recorded_at timestamptz(3) not null,
  primary key (month, user_id)
);
alter table audit_archive_erasures enable row level security;
create policy audit_archive_erasures_service on audit_archive_erasures to probatio_service
  using (true) with check (true);
grant select, insert on audit_archive_erasures to probatio_service;
`;
