import { Migration } from '@mikro-orm/migrations';

/** Adds key generations, the dead-letter queue, audit marks, and indexes for maintenance. */
export class Migration0005Audit extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter table signing_keys
  add state text not null default 'CREATED',
  add activated_at timestamptz(3) null,
  add retired_at timestamptz(3) null,
  add record_id uuid null;
-- The owner sees no row of a table with forced row-level security.
alter table signing_keys no force row level security;
update signing_keys k
set state = case when n.newest then 'ACTIVE' else 'RETIRED' end,
  activated_at = registered_at,
  retired_at = case when n.newest then null else now() end
from (
  select key_id, generation = max(generation) over (partition by purpose) as newest
  from signing_keys
) as n
where n.key_id = k.key_id;
alter table signing_keys force row level security;
alter table signing_keys
  add constraint signing_keys_generation unique (purpose, generation);
create unique index signing_keys_active on signing_keys (purpose) where state = 'ACTIVE';
alter table signing_keys
  add constraint signing_keys_state check (state in ('CREATED', 'ACTIVE', 'RETIRED'));
alter table signing_keys
  add constraint signing_keys_validity check ((state = 'RETIRED') = (retired_at is not null)
    and (state <> 'ACTIVE' or activated_at is not null));

alter table audit_entries drop constraint audit_entries_state;
alter table audit_entries drop constraint audit_entries_erased;
alter table audit_entries
  add constraint audit_entries_state check (state in ('PENDING', 'SEALED', 'DEAD', 'ABANDONED'));
alter table audit_entries
  add constraint audit_entries_erased check ((canonical is null) = (erased_at is not null)
    and (erased_at is null or state in ('SEALED', 'ABANDONED')));
create index audit_entries_owner on audit_entries (user_id, id);

alter table audit_dead_letters
  add status text not null default 'PENDING',
  add ended_at timestamptz(3) null,
  add tombstone_id uuid null,
  add abandon_reason text null,
  add abandoned_by text null;
create index audit_dead_letters_pending on audit_dead_letters (created_at) where status = 'PENDING';
alter table audit_dead_letters
  add constraint audit_dead_letters_status check (status in ('PENDING', 'RECOVERED', 'ABANDONED'));
alter table audit_dead_letters
  add constraint audit_dead_letters_ended check ((status = 'PENDING') = (ended_at is null)
    and (status = 'ABANDONED') = (tombstone_id is not null));

create table audit_totals (slot int not null, sealed bigint not null, primary key (slot));
create table audit_marks (
  id int not null,
  mark_id uuid not null,
  written_at timestamptz(3) not null,
  primary key (id)
);
alter table audit_marks add constraint audit_marks_single check (id = 1);
alter table audit_entries no force row level security;
insert into audit_totals
  select 0, count(*) from audit_entries where state = 'SEALED';
alter table audit_entries force row level security;

create index upload_sessions_ended on upload_sessions (expires_at)
  where status in ('ABORTED', 'EXPIRED');
create index refresh_tokens_expires on refresh_tokens (expires_at);
create index share_recipients_user on share_recipients (recipient_user_id);

alter table audit_totals enable row level security;
alter table audit_totals force row level security;
create policy audit_totals_service on audit_totals to probatio_service
  using (true)
  with check (true);
alter table audit_marks enable row level security;
alter table audit_marks force row level security;
create policy audit_marks_service on audit_marks to probatio_service
  using (true)
  with check (true);

grant select, insert, update on audit_totals, audit_marks to probatio_service;
grant update (state, activated_at, retired_at, record_id) on signing_keys to probatio_service;
`;
