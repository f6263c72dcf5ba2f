import { Migration } from '@mikro-orm/migrations';

/** Adds the version of a device's description, for changes under If-Match. */
export class Migration0009DeviceVersions extends Migration {
  override up(): void {
    this.addSql('alter table devices add column version int not null default 1');
  }
}
