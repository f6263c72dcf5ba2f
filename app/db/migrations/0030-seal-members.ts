import { Migration } from '@mikro-orm/migrations';

/**
 * Stores the members that the signer adds to an entry. The time of a row is that of its insertion,
 * by the clock of the database, and neither login can set or change it.
 */
export class Migration0030SealMembers extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter table audit_entries add late boolean not null default false;
alter table audit_entries alter created_at set default clock_timestamp();

drop policy audit_entries_insert on audit_entries;
create policy audit_entries_insert on audit_entries as restrictive for insert to probatio_app
  with check (state = 'PENDING' and hash is null and signature is null and key_id is null
    and sealed_at is null and not late and attempts = 0 and claim_id is null
    and claimed_until is null);
drop trigger sealed on audit_entries;
create trigger sealed before update on audit_entries for each row
  when (current_setting('is_superuser') = 'off' and old.state = 'SEALED'
    and (row(new.id, new.user_id, new.tenant_id, new.resource_type, new.resource_id, new.seq,
        new.action, new.state, new.hash, new.signature, new.key_id, new.sealed_at, new.late)
      is distinct from row(old.id, old.user_id, old.tenant_id, old.resource_type, old.resource_id,
        old.seq, old.action, old.state, old.hash, old.signature, old.key_id, old.sealed_at,
        old.late)
      or new.canonical is not null and new.canonical is distinct from old.canonical))
  execute function refuse_change();

revoke insert on audit_entries from probatio_app, probatio_service;
revoke update on audit_entries from probatio_service;
grant insert
  (id, user_id, tenant_id, resource_type, resource_id, seq, action, canonical)
  on audit_entries to probatio_app, probatio_service;
grant update
  (state, hash, signature, key_id, sealed_at, late, canonical, erased_at, attempts, claim_id,
    claimed_until)
  on audit_entries to probatio_service;
`;
