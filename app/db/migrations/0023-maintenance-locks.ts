import { Migration } from '@mikro-orm/migrations';

/** Adds the locks of maintenance tasks, which were advisory locks of a connection. */
export class Migration0023MaintenanceLocks extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table maintenance_locks (
  task text not null,
  token bigint not null,
  held_until timestamptz(3) null,
  primary key (task)
);

alter table maintenance_locks enable row level security;
alter table maintenance_locks force row level security;
create policy maintenance_locks_service on maintenance_locks to probatio_service
  using (true)
  with check (true);

-- Nobody deletes a row: its token must never be given out again.
grant select, insert, update on maintenance_locks to probatio_service;
`;
