import { Migration } from '@mikro-orm/migrations';

/** Drops the status of a stored sync response, since it follows from the response. */
export class Migration0011SyncRequests extends Migration {
  override up(): void {
    this.addSql('alter table sync_requests drop column status');
  }
}
