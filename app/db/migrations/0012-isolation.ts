import { Migration } from '@mikro-orm/migrations';

/**
 * Adds the canary of row-level security. Restricts the logins further: what is sealed or revoked
 * stays so, numbers of entries only increase, and there are no temporary tables.
 */
export class Migration0012Isolation extends Migration {
  override up(): void {
    this.addSql(sql);
    this.addSql(databaseRights);
  }
}

const sql = `
create table isolation_canaries (id uuid not null, primary key (id));
insert into isolation_canaries (id) values ('ca4a7100-0000-4000-8000-000000000000');
alter table isolation_canaries enable row level security;
alter table isolation_canaries force row level security;
create policy isolation_canaries_owner on isolation_canaries for select to probatio_app
  using (id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy isolation_canaries_service on isolation_canaries to probatio_service
  using (true)
  with check (true);
grant select on isolation_canaries to probatio_app, probatio_service;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'permission denied by trigger % on %', tg_name, tg_table_name
    using errcode = 'insufficient_privilege';
end;
$$;

create policy audit_entries_insert on audit_entries as restrictive for insert to probatio_app
  with check (state = 'PENDING' and hash is null and signature is null and key_id is null
    and sealed_at is null and attempts = 0 and claim_id is null and claimed_until is null);
create trigger sealed before update on audit_entries for each row
  when (current_setting('is_superuser') = 'off' and old.state = 'SEALED'
    and (row(new.id, new.user_id, new.tenant_id, new.resource_type, new.resource_id, new.seq,
        new.action, new.state, new.hash, new.signature, new.key_id, new.sealed_at)
      is distinct from row(old.id, old.user_id, old.tenant_id, old.resource_type, old.resource_id,
        old.seq, old.action, old.state, old.hash, old.signature, old.key_id, old.sealed_at)
      or new.canonical is not null and new.canonical is distinct from old.canonical))
  execute function refuse_change();
revoke delete on audit_entries from probatio_service;

create policy audit_sequences_insert on audit_sequences as restrictive for insert to probatio_app
  with check (last_seq = 1);
create trigger forward before update on audit_sequences for each row
  when (current_setting('is_superuser') = 'off'
    and (row(new.user_id, new.tenant_id, new.resource_type, new.resource_id)
        is distinct from row(old.user_id, old.tenant_id, old.resource_type, old.resource_id)
      or new.last_seq < old.last_seq
      or new.last_seq <> old.last_seq + 1
        and not pg_has_role(session_user, 'probatio_service', 'usage')))
  execute function refuse_change();
revoke delete on audit_sequences from probatio_app;

create policy document_versions_insert on document_versions as restrictive for insert
  to probatio_app
  with check (status = 'PENDING');
create trigger sealed before update on document_versions for each row
  when (current_setting('is_superuser') = 'off'
    and old.status = 'SEALED' and new is distinct from old)
  execute function refuse_change();
create trigger kept before delete on document_versions for each row
  when (current_setting('is_superuser') = 'off'
    and old.status = 'SEALED' and not pg_has_role(session_user, 'probatio_service', 'usage'))
  execute function refuse_change();

create trigger revoked before update on login_sessions for each row
  when (current_setting('is_superuser') = 'off'
    and (row(new.id, new.user_id, new.tenant_id)
        is distinct from row(old.id, old.user_id, old.tenant_id)
      or old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at))
  execute function refuse_change();
revoke insert, update on login_sessions from probatio_app;
grant update (device_id, revoked_at) on login_sessions to probatio_app;

create trigger revoked before update on devices for each row
  when (current_setting('is_superuser') = 'off'
    and (row(new.user_id, new.tenant_id, new.device_id)
        is distinct from row(old.user_id, old.tenant_id, old.device_id)
      or old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at))
  execute function refuse_change();
revoke delete on devices from probatio_app;
revoke update, delete on session_devices from probatio_app;

drop policy outbox_append on outbox;
create policy outbox_append on outbox for insert to probatio_app
  with check (kind in ('object.delete', 'multipart.abort')
    and not (kind = 'object.delete' and exists (
      select 1 from document_versions
      where document_versions.storage_key = outbox.payload::json ->> 'key'
        and document_versions.status = 'SEALED')));
`;

/** Only the owner of the database can do this, and its name is known only here. */
const databaseRights = `
do $$
begin
  execute format('revoke temporary, create on database %I from public', current_database());
end
$$;
`;
