import { Migration } from '@mikro-orm/migrations';

/**
 * Adds replaced keys, whether an envelope was stored with a fresh proof of identity, and the index
 * by which auditors read the newest entries of their tenant. Envelopes that exist count as stored
 * with a fresh proof, since their users have relied on them.
 */
export class Migration0014ReplacedKeys extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create index audit_entries_tenant on audit_entries (tenant_id, id);

alter table key_envelopes add proven boolean not null default true;
alter table key_envelopes alter column proven set default false;

create table replaced_keys (
  id uuid not null,
  user_id uuid not null,
  tenant_id text not null,
  kind text not null,
  version int not null,
  wrapped_key text not null,
  public_key text null,
  salt text null,
  verifier text null,
  replaced_at timestamptz(3) not null,
  primary key (id)
);
create index replaced_keys_owner on replaced_keys (user_id, tenant_id, id);
create index replaced_keys_age on replaced_keys (replaced_at);
alter table replaced_keys
  add constraint replaced_keys_kind check (kind in ('MASTER', 'RECOVERY', 'SHARING'));
alter table replaced_keys
  add constraint replaced_keys_pair check ((kind = 'SHARING') = (public_key is not null));
alter table replaced_keys
  add constraint replaced_keys_credential
    check ((salt is null) = (verifier is null) and (salt is null or kind = 'RECOVERY'));

alter table replaced_keys enable row level security;
alter table replaced_keys force row level security;
create policy replaced_keys_owner on replaced_keys to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy replaced_keys_service on replaced_keys to probatio_service
  using (true)
  with check (true);

-- Only the service login takes a replaced key back or removes it.
grant select, insert on replaced_keys to probatio_app;
grant select, insert, update, delete on replaced_keys to probatio_service;
`;
