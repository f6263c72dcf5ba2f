import { Migration } from '@mikro-orm/migrations';

/**
 * Adds login sessions, users of other issuers, known client addresses, tallies, purge and erasure.
 */
export class Migration0003Access extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table audit_tallies (
  minute timestamptz(3) not null,
  user_id uuid not null,
  action text not null,
  actor_id text not null,
  resource_type text not null,
  resource_id text not null,
  detail text not null,
  tenant_id text not null,
  count int not null,
  primary key (minute, user_id, action, actor_id, resource_type, resource_id, detail)
);

create table identities (
  user_id uuid not null,
  issuer text not null,
  subject text not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id)
);
alter table identities
  add constraint identities_subject unique (issuer, subject);

create table known_addresses (
  account_id uuid not null,
  address_hash text not null,
  last_login_at timestamptz(3) not null,
  primary key (account_id, address_hash)
);

create table login_sessions (
  id uuid not null,
  user_id uuid not null,
  tenant_id text not null,
  device_id uuid null,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3) null,
  primary key (id)
);
create index login_sessions_user on login_sessions (user_id, id);
create index login_sessions_revoked on login_sessions (revoked_at) where revoked_at is not null;
create index login_sessions_expiry on login_sessions (expires_at);

create table purge_runs (
  id uuid not null,
  requested_by text not null,
  dry_run boolean not null,
  purged_accounts int not null default 0,
  removed_audit_traces int not null default 0,
  removed_emails int not null default 0,
  started_at timestamptz(3) not null,
  completed_at timestamptz(3) null,
  primary key (id)
);

create table refresh_tokens (
  token_hash text not null,
  session_id uuid not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  used_at timestamptz(3) null,
  primary key (token_hash)
);
create index refresh_tokens_session on refresh_tokens (session_id);
alter table refresh_tokens
  add constraint refresh_tokens_session_id_foreign foreign key (session_id)
    references login_sessions (id) on update no action on delete cascade;

alter table accounts drop constraint accounts_status;
alter table accounts add closed_at timestamptz(3) null;
alter table accounts alter column email drop not null;
create index accounts_unvalidated on accounts (created_at) where status = 'PENDING_VALIDATION';
alter table accounts
  add constraint accounts_closed check ((status = 'CLOSED') = (email is null));
alter table accounts
  add constraint accounts_status check (status in ('PENDING_VALIDATION', 'ACTIVE', 'CLOSED'));

alter table audit_entries add erased_at timestamptz(3) null;
alter table audit_entries alter column canonical drop not null;
alter table audit_entries
  add constraint audit_entries_erased check ((canonical is null) = (erased_at is not null)
    and (erased_at is null or state = 'SEALED'));

alter table outbox add user_id uuid null;
create index outbox_user on outbox (user_id) where user_id is not null;

alter table audit_tallies enable row level security;
alter table audit_tallies force row level security;
create policy audit_tallies_service on audit_tallies to probatio_service
  using (true)
  with check (true);
alter table identities enable row level security;
alter table identities force row level security;
create policy identities_service on identities to probatio_service
  using (true)
  with check (true);
alter table known_addresses enable row level security;
alter table known_addresses force row level security;
create policy known_addresses_service on known_addresses to probatio_service
  using (true)
  with check (true);
alter table login_sessions enable row level security;
alter table login_sessions force row level security;
create policy login_sessions_owner on login_sessions to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy login_sessions_service on login_sessions to probatio_service
  using (true)
  with check (true);
alter table purge_runs enable row level security;
alter table purge_runs force row level security;
create policy purge_runs_service on purge_runs to probatio_service
  using (true)
  with check (true);
alter table refresh_tokens enable row level security;
alter table refresh_tokens force row level security;
create policy refresh_tokens_service on refresh_tokens to probatio_service
  using (true)
  with check (true);

grant select, insert, update on login_sessions to probatio_app;
grant select, insert, update, delete on
  audit_tallies, identities, known_addresses, login_sessions, purge_runs, refresh_tokens
  to probatio_service;
`;
