import { Migration } from '@mikro-orm/migrations';

/** Adds the state of keys that somebody else may have, and keeps the end of a key for ever. */
export class Migration0032CompromisedKeys extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter table signing_keys
  add column compromised_since timestamptz(3) null,
  add column compromise_id uuid null,
  drop constraint signing_keys_state,
  drop constraint signing_keys_validity;
alter table signing_keys
  add constraint signing_keys_state
    check (state in ('CREATED', 'ACTIVE', 'RETIRED', 'COMPROMISED')),
  add constraint signing_keys_validity
    check ((state in ('RETIRED', 'COMPROMISED')) = (retired_at is not null)
      and (state <> 'ACTIVE' or activated_at is not null)
      and (state = 'COMPROMISED') = (compromised_since is not null));
grant update (compromised_since, compromise_id) on signing_keys to probatio_service;

create trigger ended before update on signing_keys for each row
  when (current_setting('is_superuser') = 'off'
    and (old.state = 'RETIRED' and new.state in ('CREATED', 'ACTIVE')
      or old.state = 'COMPROMISED' and (new.state <> 'COMPROMISED'
        or new.compromised_since > old.compromised_since)
      or old.activated_at is not null and new.activated_at is distinct from old.activated_at
      or old.retired_at is not null and new.retired_at is distinct from old.retired_at))
  execute function refuse_change();
`;
