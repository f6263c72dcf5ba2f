import { Migration } from '@mikro-orm/migrations';

/**
 * Divides the entries into an append-only log, its seals and the queue of what is to be sealed, so
 * that sealing neither writes an entry again nor leaves dead rows behind in the log.
 */
export class Migration0049AppendOnlyLog extends Migration {
  override up(): void {
    this.addSql(tables);
    this.addSql(rows);
    this.addSql(functions);
    this.addSql(access);
  }
}

const tables = `
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
  constraint audit_log_erased check ((canonical is null) = (erased_at is not null)),
  constraint audit_log_seq unique (user_id, tenant_id, resource_type, resource_id, seq)
);
create table audit_seals (
  entry_id uuid not null primary key,
  hash bytea not null,
  signature bytea not null,
  key_id bytea not null,
  sealed_at timestamptz(3) not null,
  late boolean not null
);
create table audit_queue (
  entry_id uuid not null primary key,
  user_id uuid not null,
  is_tallied boolean not null,
  attempts int not null default 0,
  claim_id uuid null,
  claimed_until timestamptz(3) null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
alter table audit_dead_letters
  add column claim_id uuid null,
  add column claimed_until timestamptz(3) null;
`;

const rows = `
-- The owner sees no row of a table with forced row-level security.
alter table audit_entries no force row level security;
alter table audit_dead_letters no force row level security;
insert into audit_log
  select id, user_id, tenant_id, resource_type, resource_id, seq, action, canonical, created_at,
    erased_at
  from audit_entries order by id;
insert into audit_seals
  select id, decode(hash, 'hex'), decode(signature, 'base64'), decode(key_id, 'hex'), sealed_at,
    late
  from audit_entries where state = 'SEALED' order by id;
insert into audit_queue
  select id, user_id, action in ('auth.login_failed', 'audit.read', 'mfa.failed',
    'document.downloaded', 'internal_key.used'), attempts
  from audit_entries where state = 'PENDING' order by id;
drop table audit_entries;
alter table audit_dead_letters force row level security;
create index audit_log_owner on audit_log (user_id, id);
create index audit_log_tenant on audit_log (tenant_id, id);
create index audit_log_resource on audit_log (resource_id, id);
create index audit_queue_owner on audit_queue (user_id, entry_id);
create index audit_queue_tallied on audit_queue (entry_id) where is_tallied;
`;

const functions = `
create function queue_audit_entry() returns trigger language plpgsql as $$
begin
  insert into audit_queue (entry_id, user_id, is_tallied)
    values (new.id, new.user_id, new.action in ('auth.login_failed', 'audit.read', 'mfa.failed',
      'document.downloaded', 'internal_key.used'));
  return null;
end;
$$;
create function refuse_unsealed_erasure() returns trigger language plpgsql as $$
begin
  if exists (select from audit_seals where entry_id = old.id)
    or exists (select from audit_dead_letters where entry_id = old.id and status = 'ABANDONED') then
    return new;
  end if;
  raise exception 'the entry % is not sealed yet', old.id
    using errcode = 'check_violation', table = 'audit_log', constraint = 'audit_log_unsealed';
end;
$$;
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

alter table audit_queue enable row level security;
alter table audit_queue force row level security;
create policy audit_queue_append on audit_queue for insert to probatio_app
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and pg_trigger_depth() > 0);
create policy audit_queue_service on audit_queue to probatio_service
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
grant insert (entry_id, user_id, is_tallied) on audit_queue to probatio_app;
grant select, delete on audit_queue to probatio_service;
grant insert (entry_id, user_id, is_tallied) on audit_queue to probatio_service;
grant update (attempts, claim_id, claimed_until) on audit_queue to probatio_service;
grant select (entry_id, status) on audit_dead_letters to probatio_app;
grant select on audit_entries to probatio_app, probatio_service;
`;
