import { Migration } from '@mikro-orm/migrations';

/**
 * Partitions the log and its seals by the months of their ids, so that a month can leave the
 * database, and lets the service login have the partitions of the coming year made.
 */
export class Migration0056LogPartitions extends Migration {
  override up(): void {
    this.addSql(tables);
    this.addSql(functions);
    this.addSql(rows);
    this.addSql(access);
    this.addSql(storage);
  }
}

const tables = `
alter table audit_log rename to audit_log_before;
alter table audit_seals rename to audit_seals_before;
alter index audit_log_pkey rename to audit_log_before_pkey;
alter index audit_seals_pkey rename to audit_seals_before_pkey;
alter index audit_log_owner rename to audit_log_before_owner;
alter index audit_log_tenant rename to audit_log_before_tenant;
alter index audit_log_resource rename to audit_log_before_resource;
create table audit_log (
  id uuid not null primary key,
  user_id uuid not null,
  tenant_id text not null,
  resource_type text not null,
  resource_id text not null,
  seq bigint not null,
  action text not null,
  canonical text null,
  created_at timestamptz(3) not null default clock_timestamp(),
  erased_at timestamptz(3) null,
  constraint audit_log_erased check ((canonical is null) = (erased_at is not null))
) partition by range (id);
create table audit_seals (
  entry_id uuid not null primary key,
  hash bytea not null,
  signature bytea not null,
  key_id bytea not null,
  sealed_at timestamptz(3) not null,
  late boolean not null
) partition by range (entry_id);
create index audit_log_owner on audit_log (user_id, id);
create index audit_log_tenant on audit_log (tenant_id, id);
create index audit_log_resource on audit_log (resource_id, id);
`;

const functions = `
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
      execute format('alter table public.%I add constraint %I
        unique (user_id, tenant_id, resource_type, resource_id, seq)', name, name || '_seq');
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
`;

const rows = `
-- The owner sees no row of a table with forced row-level security.
alter table audit_log_before no force row level security;
alter table audit_seals_before no force row level security;
-- A clock that lags at the beginning of a month makes ids of the month before.
select make_audit_month((date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date);
select make_audit_partitions();
select make_audit_month(month) from (
  select distinct date_trunc('month', uuid_extract_timestamp(id) at time zone 'UTC')::date
  from audit_log_before
) as months (month);
insert into audit_log
  select id, user_id, tenant_id, resource_type, resource_id, seq, action, canonical, created_at,
    erased_at
  from audit_log_before order by id;
insert into audit_seals
  select entry_id, hash, signature, key_id, sealed_at, late from audit_seals_before
  order by entry_id;
drop view audit_entries;
drop policy audit_dead_letters_read on audit_dead_letters;
drop table audit_seals_before;
drop table audit_log_before;
create trigger queued after insert on audit_log for each row
  execute function queue_audit_entry();
create trigger kept before update on audit_log for each row
  when (current_setting('is_superuser') = 'off'
    and (row(new.id, new.user_id, new.tenant_id, new.resource_type, new.resource_id, new.seq,
        new.action, new.created_at)
      is distinct from row(old.id, old.user_id, old.tenant_id, old.resource_type, old.resource_id,
        old.seq, old.action, old.created_at)
      or new.canonical is not null and new.canonical is distinct from old.canonical))
  execute function refuse_change();
create trigger unsealed before update on audit_log for each row
  when (new.canonical is null and old.canonical is not null)
  execute function refuse_unsealed_erasure();
create view audit_entries with (security_invoker = true) as
select l.id, l.user_id, l.tenant_id, l.resource_type, l.resource_id, l.seq, l.action, l.canonical,
  l.created_at, l.erased_at,
  case when s.entry_id is not null then 'SEALED'
    when d.status = 'PENDING' then 'DEAD'
    when d.status = 'ABANDONED' then 'ABANDONED'
    else 'PENDING' end as state,
  encode(s.hash, 'hex') as hash,
  translate(encode(s.signature, 'base64'), chr(10), '') as signature,
  encode(s.key_id, 'hex') as key_id,
  s.sealed_at, coalesce(s.late, false) as late
from audit_log l
left join audit_seals s on s.entry_id = l.id
left join audit_dead_letters d on d.entry_id = l.id;
`;

const access = `
alter table audit_log enable row level security;
alter table audit_log force row level security;
create policy audit_log_owner on audit_log to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy audit_log_service on audit_log to probatio_service
  using (true)
  with check (true);
create policy audit_log_insert on audit_log as restrictive for insert to probatio_app
  with check (not starts_with(action, 'key.') and action <> 'vault.marked');

alter table audit_seals enable row level security;
alter table audit_seals force row level security;
create policy audit_seals_read on audit_seals for select to probatio_app
  using (exists (select 1 from audit_log where audit_log.id = audit_seals.entry_id));
create policy audit_seals_service on audit_seals to probatio_service
  using (true)
  with check (true);
create policy audit_dead_letters_read on audit_dead_letters for select to probatio_app
  using (exists (select 1 from audit_log where audit_log.id = audit_dead_letters.entry_id));

grant select on audit_log to probatio_app, probatio_service;
grant insert (id, user_id, tenant_id, resource_type, resource_id, seq, action, canonical)
  on audit_log to probatio_app, probatio_service;
grant update (canonical, erased_at) on audit_log to probatio_service;
grant select on audit_seals to probatio_app;
grant select, insert on audit_seals to probatio_service;
grant select on audit_entries to probatio_app, probatio_service;
`;

/** Leaves room on the pages of rows that are updated, so that the indexes need not change. */
const storage = `
alter table audit_sequences set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
alter table audit_totals set (fillfactor = 10);
alter table audit_tallies set (fillfactor = 50);
`;
