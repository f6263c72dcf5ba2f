import { createAuditTrail, type AuditTrail } from '../audit-trail/audit-trail.ts';
import { systemClock } from '../async/clock.ts';
import { openDatabase, type Database } from '../db/database.ts';
import { findServiceProblem } from '../db/isolation/check.ts';
import { requireDatabaseUrl, UsageError } from './command.ts';
import { readRoles } from './database-roles.ts';

interface ServiceDatabase {
  readonly db: Database;
  readonly audit: AuditTrail;
}

/**
 * Runs `work` on the database that DATABASE_SERVICE_URL names. The audit entries that `work`
 * appends are signed later by a running app. Throws UsageError if the login is not that of the
 * workers.
 */
export async function withServiceDatabase<T>(
  work: (service: ServiceDatabase) => Promise<T>,
): Promise<T> {
  const serviceUrl = requireDatabaseUrl('DATABASE_SERVICE_URL');
  // No user is logged in here, so the login for users (`url`) is never used.
  const db = await openDatabase({ url: serviceUrl, serviceUrl, poolSize: 1 });
  const audit = createAuditTrail({
    clock: systemClock,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  try {
    const problem = await findServiceProblem(db, readRoles());
    if (problem !== undefined) throw new UsageError(problem);
    return await work({ db, audit });
  } finally {
    await db.close();
  }
}
