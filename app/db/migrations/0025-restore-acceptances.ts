import { Migration } from '@mikro-orm/migrations';

/** Adds the high-water mark by which an operator accepts what a restore lost. */
export class Migration0025RestoreAcceptances extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table restore_acceptances (
  mark_id uuid not null,
  accepted_at timestamptz(3) not null default now(),
  lacking text[] null,
  recorded_at timestamptz(3) null,
  primary key (mark_id)
);

alter table restore_acceptances enable row level security;
alter table restore_acceptances force row level security;
create policy restore_acceptances_service on restore_acceptances to probatio_service
  using (true)
  with check (true);

grant select, insert, update, delete on restore_acceptances to probatio_service;
`;
