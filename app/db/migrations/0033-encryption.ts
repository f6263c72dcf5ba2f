import { Migration } from '@mikro-orm/migrations';

/**
 * Adds the encryption of what a password can be guessed from. Rows that exist stay readable until
 * `probatio maintenance reencrypt` encrypts them; the triggers let no login write another
 * unencrypted one.
 */
export class Migration0033Encryption extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table encryption_keys (
  generation int not null,
  check_value text not null,
  escrow text null,
  escrow_key text null,
  usable_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  primary key (generation)
);
alter table encryption_keys
  add constraint encryption_keys_escrow check ((escrow is null) = (escrow_key is null));
alter table encryption_keys enable row level security;
alter table encryption_keys force row level security;
create policy encryption_keys_service on encryption_keys to probatio_service
  using (true)
  with check (true);
-- Nobody deletes a generation: rows and backups may need it.
grant select, insert, update on encryption_keys to probatio_service;

alter table credentials add key_generation int null;
alter table registrations add key_generation int null;
alter table key_envelopes add key_generation int null;
alter table replaced_keys add key_generation int null;

create index credentials_generation on credentials (key_generation) where method = 'password';
create index registrations_generation on registrations (key_generation);
create index key_envelopes_generation on key_envelopes (key_generation) where kind = 'MASTER';
create index replaced_keys_generation on replaced_keys (key_generation) where kind = 'MASTER';

create trigger encrypted before insert or update on credentials for each row
  when (current_setting('is_superuser') = 'off'
    and (new.key_generation is null) <> (new.method <> 'password'))
  execute function refuse_change();
create trigger encrypted before insert or update on registrations for each row
  when (current_setting('is_superuser') = 'off' and (new.key_generation is null) <> (false))
  execute function refuse_change();
create trigger encrypted before insert or update on key_envelopes for each row
  when (current_setting('is_superuser') = 'off'
    and (new.key_generation is null) <> (new.kind <> 'MASTER'))
  execute function refuse_change();
create trigger encrypted before insert or update on replaced_keys for each row
  when (current_setting('is_superuser') = 'off'
    and (new.key_generation is null) <> (new.kind <> 'MASTER'))
  execute function refuse_change();
`;
