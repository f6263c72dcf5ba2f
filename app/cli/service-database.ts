import { createAuditTrail, type AuditTrail } from '../trail/trail.ts';
import { systemClock } from '../async/clock.ts';
import { openDatabase, type Database } from '../db/database.ts';
import { requireDatabaseUrl } from './command.ts';

interface ServiceDatabase {
  readonly db: Database;
  readonly audit: AuditTrail;
}

/** Works on the database that DATABASE_SERVICE_URL names; a running app signs the entries. */
export async function withServiceDatabase<T>(
  work: (service: ServiceDatabase) => Promise<T>,
): Promise<T> {
  const serviceUrl = requireDatabaseUrl('DATABASE_SERVICE_URL');
  // Nobody is a user here: the other login is never used.
  const db = await openDatabase({ url: serviceUrl, serviceUrl, poolSize: 1 });
  const audit = createAuditTrail({
    clock: systemClock,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  try {
    return await work({ db, audit });
  } finally {
    await db.close();
  }
}
