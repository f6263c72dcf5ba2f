import { Migration } from '@mikro-orm/migrations';

/** Adds what is known of the stored objects of versions since they were uploaded. */
export class Migration0046ObjectChecks extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table object_checks (
  document_id uuid not null,
  version int not null,
  user_id uuid not null,
  tenant_id text not null,
  checked_at timestamptz(3) null,
  whole_at timestamptz(3) null,
  damage text null,
  damaged_at timestamptz(3) null,
  unreadable_since timestamptz(3) null,
  available_at timestamptz(3) not null default now(),
  primary key (document_id, version),
  constraint object_checks_damage check (damage in ('damaged', 'missing')),
  constraint object_checks_damaged check ((damage is null) = (damaged_at is null)),
  constraint object_checks_document_id_foreign foreign key (document_id)
    references documents (id) on update no action on delete cascade
);
create index object_checks_queue on object_checks (checked_at nulls first);
create index object_checks_damages on object_checks (damaged_at) where damage is not null;
create index object_checks_unreadable on object_checks (unreadable_since)
  where unreadable_since is not null;

alter table object_checks enable row level security;
alter table object_checks force row level security;
create policy object_checks_owner on object_checks to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true)
    and exists (select 1 from documents where documents.id = object_checks.document_id
      and documents.user_id = object_checks.user_id));
create policy object_checks_service on object_checks to probatio_service
  using (true)
  with check (true);
create policy object_checks_shared on object_checks for select to probatio_app
  using (exists (select 1 from document_shares
    where document_shares.document_id = object_checks.document_id
      and (document_shares.version is null or document_shares.version = object_checks.version)
      and document_shares.recipient_user_id = nullif(current_setting('app.user_id', true), '')::uuid
      and document_shares.tenant_id = current_setting('app.tenant_id', true)
      and (document_shares.expires_at is null or document_shares.expires_at > now())
      and not exists (select 1 from sender_blocks
        where sender_blocks.user_id = document_shares.recipient_user_id
          and sender_blocks.tenant_id = document_shares.tenant_id
          and sender_blocks.sender_id = document_shares.user_id)));
create policy object_checks_insert on object_checks as restrictive for insert to probatio_app
  with check (checked_at is null and whole_at is null and damage is null);
grant select, insert on object_checks to probatio_app;
grant select, insert, update, delete on object_checks to probatio_service;

-- The owner sees no row of a table with forced row-level security.
alter table document_versions no force row level security;
alter table documents no force row level security;
alter table object_checks no force row level security;
insert into object_checks (document_id, version, user_id, tenant_id)
  select document_id, version, user_id, tenant_id from document_versions where status = 'SEALED';
alter table object_checks force row level security;
alter table documents force row level security;
alter table document_versions force row level security;

create function queue_object_check() returns trigger language plpgsql as $$
begin
  insert into object_checks (document_id, version, user_id, tenant_id)
    values (new.document_id, new.version, new.user_id, new.tenant_id)
    on conflict do nothing;
  return null;
end;
$$;
create trigger check_queued after insert or update of status on document_versions for each row
  when (new.status = 'SEALED') execute function queue_object_check();
`;
