import { Migration } from '@mikro-orm/migrations';

/** Adds devices, their envelopes and recovery envelopes, login by recovery words, and sync. */
export class Migration0006Devices extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter table credentials add method text not null default 'password';
alter table credentials drop constraint credentials_pkey;
alter table credentials add primary key (account_id, method);
alter table credentials
  add constraint credentials_method check (method in ('password', 'recovery'));

alter table key_envelopes
  add device_id uuid null,
  add replaced_at timestamptz(3) null;
alter table key_envelopes drop constraint key_envelopes_kind;
alter table key_envelopes drop constraint key_envelopes_kind_known;
alter table key_envelopes
  add constraint key_envelopes_kind_known check (kind in ('MASTER', 'RECOVERY', 'DEVICE'));
alter table key_envelopes
  add constraint key_envelopes_of_device check ((kind = 'DEVICE') = (device_id is not null));
create unique index key_envelopes_kind on key_envelopes (user_id, tenant_id, kind)
  where device_id is null;
create unique index key_envelopes_device on key_envelopes (user_id, tenant_id, device_id)
  where device_id is not null;

-- A user may choose the same id in several tenants, so primary keys include the tenant. Stop apps
-- of the previous version first: they know only the old keys.
alter table audit_sequences drop constraint audit_sequences_pkey;
alter table audit_sequences add primary key (user_id, tenant_id, resource_type, resource_id);
alter table audit_entries drop constraint audit_entries_seq;
alter table audit_entries
  add constraint audit_entries_seq unique (user_id, tenant_id, resource_type, resource_id, seq);

create table devices (
  user_id uuid not null,
  tenant_id text not null,
  device_id uuid not null,
  encrypted_info text null,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) null,
  revoked_at timestamptz(3) null,
  revoke_reason text null,
  primary key (user_id, tenant_id, device_id)
);
create table session_devices (
  id uuid not null,
  user_id uuid not null,
  tenant_id text not null,
  issuer text not null,
  sid text not null,
  device_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (id)
);
alter table session_devices
  add constraint session_devices_sid unique (user_id, tenant_id, issuer, sid);
create index session_devices_created on session_devices (created_at);

create table sync_objects (
  user_id uuid not null,
  tenant_id text not null,
  object_id uuid not null,
  object_type text null,
  version int not null,
  data text null,
  deleted boolean not null default false,
  change_seq bigint not null,
  last_modified_at timestamptz(3) not null,
  primary key (user_id, tenant_id, object_id)
);
alter table sync_objects
  add constraint sync_objects_change unique (user_id, tenant_id, change_seq);
alter table sync_objects
  add constraint sync_objects_deleted check (deleted = (data is null));
create table sync_counters (
  user_id uuid not null,
  tenant_id text not null,
  last_change bigint not null,
  primary key (user_id, tenant_id)
);
create table sync_history (
  id uuid not null,
  user_id uuid not null,
  tenant_id text not null,
  object_id uuid not null,
  version int not null,
  base_version int null,
  status text not null,
  conflict_type text null,
  rule_applied text null,
  sync_request_id uuid null,
  device_id uuid not null,
  changed_at timestamptz(3) not null,
  changed_fields text null,
  recorded_at timestamptz(3) not null default now(),
  primary key (id)
);
create index sync_history_object on sync_history (user_id, tenant_id, object_id, id);
create unique index sync_history_version on sync_history (user_id, tenant_id, object_id, version)
  where status = 'APPLIED';
alter table sync_history
  add constraint sync_history_status check (status in ('APPLIED', 'CONFLICT'));
alter table sync_history
  add constraint sync_history_conflict check ((status = 'CONFLICT') = (conflict_type is not null));
create table sync_requests (
  user_id uuid not null,
  tenant_id text not null,
  request_id uuid not null,
  digest text not null,
  status int not null,
  answer text not null,
  expires_at timestamptz(3) not null,
  primary key (user_id, tenant_id, request_id)
);
create index sync_requests_expiry on sync_requests (expires_at);

alter table devices enable row level security;
alter table devices force row level security;
create policy devices_owner on devices to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy devices_service on devices to probatio_service
  using (true)
  with check (true);
alter table session_devices enable row level security;
alter table session_devices force row level security;
create policy session_devices_owner on session_devices to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy session_devices_service on session_devices to probatio_service
  using (true)
  with check (true);
alter table sync_objects enable row level security;
alter table sync_objects force row level security;
create policy sync_objects_owner on sync_objects to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy sync_objects_service on sync_objects to probatio_service
  using (true)
  with check (true);
alter table sync_counters enable row level security;
alter table sync_counters force row level security;
create policy sync_counters_owner on sync_counters to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy sync_counters_service on sync_counters to probatio_service
  using (true)
  with check (true);
alter table sync_history enable row level security;
alter table sync_history force row level security;
create policy sync_history_owner on sync_history to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy sync_history_service on sync_history to probatio_service
  using (true)
  with check (true);
alter table sync_requests enable row level security;
alter table sync_requests force row level security;
create policy sync_requests_owner on sync_requests to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy sync_requests_service on sync_requests to probatio_service
  using (true)
  with check (true);

grant select, insert, update, delete
  on devices, session_devices, sync_objects, sync_counters, sync_requests
  to probatio_app;
grant select, insert on sync_history to probatio_app;
grant select, insert, update, delete
  on devices, session_devices, sync_objects, sync_counters, sync_history, sync_requests
  to probatio_service;
`;
