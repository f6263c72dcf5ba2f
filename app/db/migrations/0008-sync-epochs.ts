import { Migration } from '@mikro-orm/migrations';

/** Adds the epoch of the sync history, to which sync cursors belong. */
export class Migration0008SyncEpochs extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table sync_epochs (id int not null, epoch text not null, primary key (id));
alter table sync_epochs add constraint sync_epochs_single check (id = 1);
alter table sync_epochs add constraint sync_epochs_epoch check (epoch ~ '^([0-9a-f]{16})?$');
insert into sync_epochs (id, epoch) values (1, '');

alter table sync_epochs enable row level security;
alter table sync_epochs force row level security;
create policy sync_epochs_shown on sync_epochs for select to probatio_app
  using (true);
create policy sync_epochs_service on sync_epochs to probatio_service
  using (true)
  with check (true);

grant select on sync_epochs to probatio_app;
grant select, update on sync_epochs to probatio_service;
`;
