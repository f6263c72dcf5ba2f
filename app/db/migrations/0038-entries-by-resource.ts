import { Migration } from '@mikro-orm/migrations';

/** Finds the entries of a resource for auditors, who do not know its owner. */
export class Migration0038EntriesByResource extends Migration {
  override up(): void {
    this.addSql('create index audit_entries_resource on audit_entries (resource_id, id)');
  }
}
