import { Migration } from '@mikro-orm/migrations';

/** Adds what is kept of users who manage their MFA at the identity provider. */
export class Migration0039Mfa extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
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

alter table mfa_users enable row level security;
alter table mfa_users force row level security;
create policy mfa_users_service on mfa_users to probatio_service
  using (true)
  with check (true);
alter table mfa_pending enable row level security;
alter table mfa_pending force row level security;
create policy mfa_pending_service on mfa_pending to probatio_service
  using (true)
  with check (true);
grant select, insert, update, delete on mfa_users, mfa_pending to probatio_service;

drop index audit_entries_tallied;
create index audit_entries_tallied on audit_entries (user_id)
  where state = 'PENDING' and action in ('auth.login_failed', 'audit.read', 'mfa.failed');
`;
