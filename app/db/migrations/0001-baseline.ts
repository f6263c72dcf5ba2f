import { Migration } from '@mikro-orm/migrations';
import { accounts } from '../baseline/accounts.ts';
import { auditLog } from '../baseline/audit-log.ts';
import { auditRecords } from '../baseline/audit-records.ts';
import { devices } from '../baseline/devices.ts';
import { documents } from '../baseline/documents.ts';
import { downloads } from '../baseline/downloads.ts';
import { keys } from '../baseline/keys.ts';
import { partitions } from '../baseline/partitions.ts';
import { isolation } from '../baseline/rows.ts';
import { sharing } from '../baseline/sharing.ts';
import { usage } from '../baseline/usage.ts';
import { work } from '../baseline/work.ts';

/**
 * Creates the schema of release 0.1.0. The roles probatio_app and probatio_service exist before it
 * runs.
 */
export class Migration0001Baseline extends Migration {
  override up(): void {
    const subjects = [
      isolation,
      accounts,
      keys,
      devices,
      documents,
      sharing,
      work,
      downloads,
      auditLog,
      partitions,
      auditRecords,
      usage,
    ];
    for (const subject of subjects) this.addSql(subject);
  }
}
