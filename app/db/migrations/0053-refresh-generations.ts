import { Migration } from '@mikro-orm/migrations';

/**
 * Keeps the hashes of two refresh tokens and a generation in the row of their login session,
 * instead of a row for each token that was ever issued. The form of the tokens is new: a session
 * from before ends with its access token, and its user logs in again.
 */
export class Migration0053RefreshGenerations extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter table login_sessions no force row level security;
alter table refresh_tokens no force row level security;
alter table login_sessions
  add refresh_generation int not null default 0,
  add refresh_hash bytea null,
  add previous_hash bytea null,
  add previous_used_at timestamptz(3) null;
-- Sessions without a token are those of recovery logins, so the others keep the hash of theirs.
update login_sessions
  set refresh_generation = 1, refresh_hash = decode(token_hash, 'hex'),
    expires_at = least(login_sessions.expires_at, now() + interval '15 minutes')
  from refresh_tokens
  where session_id = id and used_at is null;
alter table login_sessions
  add constraint login_sessions_refresh
    check ((refresh_generation > 0) = (refresh_hash is not null)),
  add constraint login_sessions_previous
    check ((previous_hash is null) = (previous_used_at is null));
alter table login_sessions force row level security;
drop table refresh_tokens;

revoke select on login_sessions from probatio_app;
grant select (id, user_id, tenant_id, device_id, created_at, last_used_at, expires_at, revoked_at)
  on login_sessions to probatio_app;
`;
