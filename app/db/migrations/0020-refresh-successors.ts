import { Migration } from '@mikro-orm/migrations';

/** Adds the successor of a used refresh token, which is replaced if its response was lost. */
export class Migration0020RefreshSuccessors extends Migration {
  override up(): void {
    this.addSql('alter table refresh_tokens add successor_hash text null');
  }
}
