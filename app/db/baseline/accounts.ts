import { ownRows, serviceRows } from './rows.ts';

/** Accounts, their logins and second factors. */
export const accounts = `
-- People, by their e-mail addresses. A closed account keeps its id, which proofs name.
create table accounts (
  id uuid primary key,
  tenant_id text not null,
  email text,
  status text not null,
  plan text not null,
  roles text[] not null,
  scopes text[] not null,
  created_at timestamptz(3) not null default now(),
  activated_at timestamptz(3),
  closed_at timestamptz(3),
  constraint accounts_email unique (email),
  constraint accounts_closed check ((status = 'CLOSED') = (email is null)),
  constraint accounts_status check (status in ('PENDING_VALIDATION', 'ACTIVE', 'CLOSED'))
);
create index accounts_unvalidated on accounts (created_at, id)
  where status = 'PENDING_VALIDATION';
${serviceRows('accounts')}
grant select, insert, update, delete on accounts to probatio_service;

-- Sign-ups that wait for their validation, each with a verifier of its own.
create table registrations (
  id uuid primary key,
  account_id uuid not null,
  salt text not null,
  verifier text not null,
  token_hash text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  key_generation int,
  constraint registrations_token unique (token_hash),
  constraint registrations_account_id_foreign foreign key (account_id) references accounts (id)
    on delete cascade
);
create index registrations_account on registrations (account_id);
create index registrations_generation on registrations (key_generation);
${serviceRows('registrations')}
grant select, insert, update, delete on registrations to probatio_service;
create trigger encrypted before insert or update on registrations for each row
  when (current_setting('is_superuser') = 'off' and (new.key_generation is null) <> false)
  execute function refuse_change();

-- SRP salts and verifiers. Those of the password are encrypted.
create table credentials (
  account_id uuid not null,
  salt text not null,
  verifier text not null,
  created_at timestamptz(3) not null default now(),
  method text not null default 'password',
  key_generation int,
  primary key (account_id, method),
  constraint credentials_account_id_foreign foreign key (account_id) references accounts (id)
    on delete cascade,
  constraint credentials_method check (method in ('password', 'recovery'))
);
create index credentials_generation on credentials (key_generation) where method = 'password';
${serviceRows('credentials')}
grant select, insert, update, delete on credentials to probatio_service;
create trigger encrypted before insert or update on credentials for each row
  when (current_setting('is_superuser') = 'off'
    and (new.key_generation is null) <> (new.method <> 'password'))
  execute function refuse_change();

-- The internal ids of users of other issuers.
create table identities (
  user_id uuid primary key,
  issuer text not null,
  subject text not null,
  created_at timestamptz(3) not null default now(),
  constraint identities_subject unique (issuer, subject)
);
${serviceRows('identities')}
grant select, insert, update, delete on identities to probatio_service;

-- Networks from which an account logged in.
create table known_addresses (
  account_id uuid not null,
  address_hash text not null,
  last_login_at timestamptz(3) not null,
  primary key (account_id, address_hash)
);
create index known_addresses_age on known_addresses (last_login_at);
${serviceRows('known_addresses')}
grant select, insert, update, delete on known_addresses to probatio_service;

-- Logins with the hashes of their refresh tokens (docs/adr/0032). The app login does not read
-- the hashes, and no revocation is undone.
create table login_sessions (
  id uuid primary key,
  user_id uuid not null,
  tenant_id text not null,
  device_id uuid,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  refresh_generation int not null default 0,
  refresh_hash bytea,
  previous_hash bytea,
  previous_used_at timestamptz(3),
  constraint login_sessions_previous check ((previous_hash is null) = (previous_used_at is null)),
  constraint login_sessions_refresh check ((refresh_generation > 0) = (refresh_hash is not null))
);
create index login_sessions_user on login_sessions (user_id, id);
create index login_sessions_revoked on login_sessions (revoked_at) where revoked_at is not null;
create index login_sessions_expiry on login_sessions (expires_at);
${ownRows('login_sessions')}
grant select (id, user_id, tenant_id, device_id, created_at, last_used_at, expires_at, revoked_at),
  update (device_id, revoked_at) on login_sessions to probatio_app;
grant select, insert, update, delete on login_sessions to probatio_service;
create trigger revoked before update on login_sessions for each row
  when (current_setting('is_superuser') = 'off'
    and (row(new.id, new.user_id, new.tenant_id)
        is distinct from row(old.id, old.user_id, old.tenant_id)
      or old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at))
  execute function refuse_change();

-- Users as the identity provider that keeps the second factors knows them.
create table mfa_users (
  user_id uuid primary key,
  tenant_id text not null,
  subject text,
  is_provisioned boolean not null,
  change text,
  codes_id uuid,
  token bigint not null,
  held_until timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint mfa_users_change check (change in ('disable', 'regenerate'))
);
create index mfa_users_unfinished on mfa_users (user_id) where change is not null;
${serviceRows('mfa_users')}
grant select, insert, update, delete on mfa_users to probatio_service;

-- Set-ups of a second factor that wait for their first code. The secret is derived.
create table mfa_pending (
  user_id uuid primary key,
  nonce text not null,
  key_generation int not null,
  credential_id uuid not null,
  last_step bigint,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now()
);
create index mfa_pending_expiry on mfa_pending (expires_at);
${serviceRows('mfa_pending')}
grant select, insert, update, delete on mfa_pending to probatio_service;
`;
