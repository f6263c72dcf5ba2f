import { ownRows, serviceRows } from './rows.ts';

/** Keys of the vault, and wrapped keys of users. */
export const keys = `
-- All public keys of the HSM, for as long as proofs must verify.
create table signing_keys (
  key_id text primary key,
  purpose text not null,
  algorithm text not null,
  public_key text not null,
  generation int not null,
  registered_at timestamptz(3) not null default now(),
  state text not null default 'CREATED',
  activated_at timestamptz(3),
  retired_at timestamptz(3),
  record_id uuid,
  imported boolean not null default false,
  compromised_since timestamptz(3),
  compromise_id uuid,
  constraint signing_keys_generation unique (purpose, generation),
  constraint signing_keys_state check (state in ('CREATED', 'ACTIVE', 'RETIRED', 'COMPROMISED')),
  constraint signing_keys_validity
    check ((state in ('RETIRED', 'COMPROMISED')) = (retired_at is not null)
      and (state <> 'ACTIVE' or activated_at is not null)
      and (state = 'COMPROMISED') = (compromised_since is not null))
);
create unique index signing_keys_active on signing_keys (purpose) where state = 'ACTIVE';
${serviceRows('signing_keys')}
grant select, insert,
  update (state, activated_at, retired_at, record_id, compromised_since, compromise_id)
  on signing_keys to probatio_service;
create trigger ended before update on signing_keys for each row
  when (current_setting('is_superuser') = 'off'
    and (old.state = 'RETIRED' and new.state in ('CREATED', 'ACTIVE')
      or old.state = 'COMPROMISED' and (new.state <> 'COMPROMISED'
        or new.compromised_since > old.compromised_since)
      or old.activated_at is not null and new.activated_at is distinct from old.activated_at
      or old.retired_at is not null and new.retired_at is distinct from old.retired_at))
  execute function refuse_change();

-- Generations of the key from which keys of encrypted rows are derived. The HSM derives it.
create table encryption_keys (
  generation int primary key,
  check_value text not null,
  escrow text,
  escrow_key text,
  usable_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  constraint encryption_keys_escrow check ((escrow is null) = (escrow_key is null))
);
${serviceRows('encryption_keys')}
grant select, insert, update on encryption_keys to probatio_service;

-- Users' master keys, each wrapped under a key that only its user has.
create table key_envelopes (
  id uuid primary key,
  user_id uuid not null,
  tenant_id text not null,
  kind text not null,
  encrypted_envelope text not null,
  version int not null default 1,
  keyring text,
  created_at timestamptz(3) not null default now(),
  device_id uuid,
  replaced_at timestamptz(3),
  proven boolean not null default false,
  key_generation int,
  constraint key_envelopes_kind_known check (kind in ('MASTER', 'RECOVERY', 'DEVICE')),
  constraint key_envelopes_of_device check ((kind = 'DEVICE') = (device_id is not null))
);
create unique index key_envelopes_kind on key_envelopes (user_id, tenant_id, kind)
  where device_id is null;
create unique index key_envelopes_device on key_envelopes (user_id, tenant_id, device_id)
  where device_id is not null;
create index key_envelopes_generation on key_envelopes (key_generation) where kind = 'MASTER';
create index key_envelopes_owner on key_envelopes (user_id, tenant_id);
${ownRows('key_envelopes')}
grant select, insert, update, delete on key_envelopes to probatio_app, probatio_service;
create trigger encrypted before insert or update on key_envelopes for each row
  when (current_setting('is_superuser') = 'off'
    and (new.key_generation is null) <> (new.kind <> 'MASTER'))
  execute function refuse_change();

-- Envelopes and sharing keys that their users replaced, kept for 30 days.
create table replaced_keys (
  id uuid primary key,
  user_id uuid not null,
  tenant_id text not null,
  kind text not null,
  version int not null,
  wrapped_key text not null,
  public_key text,
  salt text,
  verifier text,
  replaced_at timestamptz(3) not null,
  key_generation int,
  signing_key text,
  wrapped_signing_key text,
  constraint replaced_keys_credential
    check ((salt is null) = (verifier is null) and (salt is null or kind = 'RECOVERY')),
  constraint replaced_keys_kind check (kind in ('MASTER', 'RECOVERY', 'SHARING')),
  constraint replaced_keys_pair
    check ((kind = 'SHARING') = (public_key is not null)
      and (kind = 'SHARING') = (signing_key is not null)
      and (wrapped_signing_key is null or kind = 'SHARING'))
);
create index replaced_keys_owner on replaced_keys (user_id, tenant_id, id);
create index replaced_keys_age on replaced_keys (replaced_at);
create index replaced_keys_generation on replaced_keys (key_generation) where kind = 'MASTER';
${ownRows('replaced_keys')}
grant select, insert on replaced_keys to probatio_app;
grant select, insert, update, delete on replaced_keys to probatio_service;
create trigger encrypted before insert or update on replaced_keys for each row
  when (current_setting('is_superuser') = 'off'
    and (new.key_generation is null) <> (new.kind <> 'MASTER'))
  execute function refuse_change();

-- Users' key pairs for sharing and signing. Clients wrap the private keys.
create table sharing_keys (
  user_id uuid not null,
  tenant_id text not null,
  public_key text not null,
  wrapped_private_key text not null,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null,
  signing_key text not null,
  wrapped_signing_key text,
  primary key (user_id, tenant_id)
);
${ownRows('sharing_keys')}
grant select, insert, update, delete on sharing_keys to probatio_app, probatio_service;
`;
