import { Migration } from '@mikro-orm/migrations';

/** Restricts the app login to outbox messages about stored files: no mail, sign-up or closure. */
export class Migration0010OutboxKinds extends Migration {
  override up(): void {
    this.addSql('drop policy outbox_append on outbox');
    this.addSql(`create policy outbox_append on outbox for insert to probatio_app
      with check (kind in ('object.delete', 'multipart.abort'))`);
  }
}
