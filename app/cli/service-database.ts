import { ConfigError } from '../../signer/protocol/process/config-error.ts';
import { createAuditTrail, type AuditTrail } from '../audit-trail/audit-trail.ts';
import { systemClock } from '../async/clock.ts';
import { refusedSkewSeconds } from '../clocks/clock-watch.ts';
import { readDatabaseClock } from '../clocks/readings.ts';
import { databaseSettings, roleSettings } from '../config/settings/backends.ts';
import { requiredPublicUrl } from '../config/settings/listeners.ts';
import { openDatabase, type Database } from '../db/database.ts';
import { findServiceProblem } from '../db/isolation/check.ts';
import { readSettings } from './variables.ts';

interface ServiceDatabase {
  readonly db: Database;
  readonly audit: AuditTrail;
}

/**
 * Runs `work` on the database that DATABASE_SERVICE_URL names. The audit entries that `work`
 * appends are signed later by a running app. Throws ConfigError if the login is not that of the
 * workers, and an error if the clock is wrong.
 */
export async function withServiceDatabase<T>(
  work: (service: ServiceDatabase) => Promise<T>,
): Promise<T> {
  const { serviceUrl } = databaseSettings.settings;
  const {
    url,
    issuer,
    appRole: app,
    serviceRole: service,
  } = readSettings({ url: serviceUrl, issuer: requiredPublicUrl, ...roleSettings });
  // No user is logged in here, so the login for users (`url`) is never used.
  const db = await openDatabase({ url, serviceUrl: url, poolSize: 1 });
  const audit = createAuditTrail({
    issuer,
    clock: systemClock,
    // Checked below, once, since a command ends soon.
    assertClock: () => undefined,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  try {
    const problem = await findServiceProblem(db, { app, service });
    if (problem !== undefined) throw new ConfigError([problem]);
    await assertClock(db);
    return await work({ db, audit });
  } finally {
    await db.close();
  }
}

/** Throws if entries would be recorded with a wrong time. */
async function assertClock(db: Database): Promise<void> {
  const time = await readDatabaseClock(db);
  const seconds = Math.round(Math.abs(systemClock().getTime() - time.getTime()) / 1_000);
  if (seconds > refusedSkewSeconds) {
    throw new Error(
      `the clocks of this machine and of Postgres differ by ${seconds} s: synchronise them`,
    );
  }
}
