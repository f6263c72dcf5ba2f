import { Migration } from '@mikro-orm/migrations';

/** Orders unsealed entries by owner, and lets those of tallies be counted alone. */
export class Migration0021SealingTurns extends Migration {
  override up(): void {
    this.addSql('drop index audit_entries_unsealed');
    this.addSql(`create index audit_entries_unsealed on audit_entries
      (user_id, created_at, id) where state = 'PENDING'`);
    this.addSql(`create index audit_entries_tallied on audit_entries (user_id)
      where state = 'PENDING' and action in ('auth.login_failed', 'audit.read')`);
  }
}
