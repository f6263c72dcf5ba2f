import { Migration } from '@mikro-orm/migrations';

/** The version of a device's description, which is changed under If-Match. */
export class Migration0009DeviceVersions extends Migration {
  override up(): void {
    this.addSql('alter table devices add column version int not null default 1');
  }
}
