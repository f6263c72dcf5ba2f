import { callerId, ownRows, serviceRows } from './rows.ts';

/** The log of audit entries, with their seals and the queue for them. */
export const auditLog = `
-- The append-only log. The canonical text is the evidence; the other columns find and verify it.
-- Nothing of a row changes, except that the text of a sealed or abandoned entry can be erased.
create table audit_log (
  id uuid primary key,
  user_id uuid not null,
  tenant_id text not null,
  resource_type text not null,
  resource_id text not null,
  seq bigint not null,
  action text not null,
  canonical text,
  created_at timestamptz(3) not null default clock_timestamp(),
  erased_at timestamptz(3),
  constraint audit_log_erased check ((canonical is null) = (erased_at is not null))
) partition by range (id);
create index audit_log_owner on audit_log (user_id, tenant_id, id);
create index audit_log_tenant on audit_log (tenant_id, id);
create index audit_log_resource on audit_log (resource_id, id);
${ownRows('audit_log')}
create policy audit_log_insert on audit_log as restrictive for insert to probatio_app
  with check (not starts_with(action, 'key.') and action <> 'vault.marked');
grant select, insert (id, user_id, tenant_id, resource_type, resource_id, seq, action, canonical)
  on audit_log to probatio_app;
grant select, insert (id, user_id, tenant_id, resource_type, resource_id, seq, action, canonical),
  update (canonical, erased_at) on audit_log to probatio_service;

-- Hashes and signatures, which the sealer adds to entries. No login changes or removes one.
create table audit_seals (
  entry_id uuid primary key,
  hash bytea not null,
  signature bytea not null,
  key_id bytea not null,
  sealed_at timestamptz(3) not null,
  late boolean not null
) partition by range (entry_id);
${serviceRows('audit_seals')}
create policy audit_seals_read on audit_seals for select to probatio_app
  using (exists (select 1 from audit_log where audit_log.id = audit_seals.entry_id));
grant select on audit_seals to probatio_app;
grant select, insert on audit_seals to probatio_service;

-- Entries that wait for their signature. Only the trigger of audit_log adds rows.
create table audit_queue (
  entry_id uuid not null,
  user_id uuid not null,
  is_tallied boolean not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  attempts int not null default 0,
  claim_id uuid,
  claimed_until timestamptz(3),
  primary key (transaction_id, entry_id)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
create index audit_queue_owner on audit_queue (user_id, transaction_id, entry_id);
create index audit_queue_tallied on audit_queue (transaction_id) where is_tallied;
${serviceRows('audit_queue')}
create policy audit_queue_append on audit_queue for insert to probatio_app
  with check (user_id = ${callerId} and pg_trigger_depth() > 0);
grant insert (entry_id, user_id, is_tallied) on audit_queue to probatio_app;
grant select, delete, insert (entry_id, user_id, is_tallied),
  update (attempts, claim_id, claimed_until) on audit_queue to probatio_service;

-- Entries whose content could not be sealed, and their outcome.
create table audit_dead_letters (
  entry_id uuid primary key,
  reason text not null,
  attempts int not null,
  created_at timestamptz(3) not null default now(),
  status text not null default 'PENDING',
  ended_at timestamptz(3),
  tombstone_id uuid,
  abandon_reason text,
  abandoned_by text,
  claim_id uuid,
  claimed_until timestamptz(3),
  constraint audit_dead_letters_ended
    check ((status = 'PENDING') = (ended_at is null)
      and (status = 'ABANDONED') = (tombstone_id is not null)),
  constraint audit_dead_letters_status check (status in ('PENDING', 'RECOVERED', 'ABANDONED'))
);
create index audit_dead_letters_pending on audit_dead_letters (created_at)
  where status = 'PENDING';
${serviceRows('audit_dead_letters')}
create policy audit_dead_letters_read on audit_dead_letters for select to probatio_app
  using (exists (select 1 from audit_log where audit_log.id = audit_dead_letters.entry_id));
grant select (entry_id, status) on audit_dead_letters to probatio_app;
grant select, insert, update, delete on audit_dead_letters to probatio_service;

-- Puts the text of an entry together, whose time must agree with the clock of Postgres.
create function entry_text(head text, seq bigint, tail text, recorded_at timestamptz)
returns text language plpgsql stable as $$
begin
  if recorded_at not between now() - interval '1 minute' and now() + interval '1 minute' then
    raise exception 'the clocks of the app and of Postgres differ: % and %', recorded_at, now()
      using errcode = 'PC001';
  end if;
  return head || seq || tail;
end;
$$;
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

-- Entries with their seals and states. Each login sees the rows that it may read of the tables.
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
grant select on audit_entries to probatio_app, probatio_service;
`;
