import { Migration } from '@mikro-orm/migrations';

/**
 * Bounds the history of synchronised objects, and keeps the former values that a write replaced, to
 * which kept responses refer.
 */
export class Migration0017SyncHistory extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter table sync_history
  add undo text null,
  add expires_at timestamptz(3) null;
-- The owner sees no row of a table with forced row-level security.
alter table sync_history no force row level security;
alter table sync_requests no force row level security;
alter table idempotency_keys no force row level security;
update sync_history set expires_at = recorded_at + interval '30 days' where status = 'CONFLICT';
update sync_history h set expires_at = now() + interval '8 days'
from (
  select id, row_number() over (
    partition by user_id, tenant_id, object_id order by version desc
  ) as place
  from sync_history where status = 'APPLIED'
) as newest
where h.id = newest.id and place > 100;
-- These rows hold whole responses, which later versions cannot read.
delete from sync_requests;
delete from idempotency_keys where status is not null;
alter table sync_history force row level security;
alter table sync_requests force row level security;
alter table idempotency_keys force row level security;

create index sync_history_expiry on sync_history (expires_at) where expires_at is not null;
create index sync_history_undo on sync_history (recorded_at) where undo is not null;
grant update (expires_at) on sync_history to probatio_app;
`;
