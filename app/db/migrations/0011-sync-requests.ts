import { Migration } from '@mikro-orm/migrations';

/** The status of a kept answer is told by the answer. */
export class Migration0011SyncRequests extends Migration {
  override up(): void {
    this.addSql('alter table sync_requests drop column status');
  }
}
