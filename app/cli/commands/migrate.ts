import { setTimeout as pause } from 'node:timers/promises';
import { exitCodes } from '../../../signer/protocol/process/exit-codes.ts';
import { commandVariables } from '../../config/other-variables.ts';
import { databaseSettings, roleSettings } from '../../config/settings/backends.ts';
import { openDatabase } from '../../db/database.ts';
import { refusalOf } from '../../db/isolation/refusal.ts';
import { migrate as runMigrations } from '../../db/migrating/migrate.ts';
import { migrationNames } from '../../db/migrating/migration-names.ts';
import { MigrationFailed } from '../../db/migrating/migration-failed.ts';
import { describeFailure } from '../../db/migrating/migration-failure.ts';
import { findMissing, lacksRight } from '../../db/migrating/missing-migrations.ts';
import { isUnavailable } from '../../db/unavailable.ts';
import { AppError } from '../../errors/app-error.ts';
import { parseOptions, UsageError, type Command, type Ended } from '../command.ts';
import { readSettings } from '../variables.ts';

const askEveryMs = 500;

export const migrate: Command = {
  usage: `usage: probatio migrate [--check | --wait SECONDS]

Migrates the database to the newest schema while apps serve it: each migration is a transaction of
its own, and requests wait for it for half a second at most. Safe to run concurrently. If it fails
or is killed, call it again: it goes on.

  --check          change nothing: exit 0 if no migration is missing, else print those and exit 3
  --wait SECONDS   the same, once no migration is missing or the time has passed

  DATABASE_OWNER_URL      database URL with the login that owns the database, or the path of a file
                          that holds it in DATABASE_OWNER_URL_FILE; it must lead to Postgres itself
  DATABASE_URL            for --check and --wait, in its place, the database URL of the app
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  async run(args) {
    const { check = false, wait } = parseOptions(args, {
      check: { type: 'boolean' },
      wait: { type: 'string' },
    });
    if (check && wait !== undefined) throw new UsageError('--check and --wait exclude each other');
    if (check) return checkWithin(0);
    return wait === undefined ? runPending() : checkWithin(parseSeconds(wait));
  },
};

function parseSeconds(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError('--wait takes a whole number of seconds');
}

async function runPending(): Promise<string> {
  const { ownerUrl } = commandVariables.settings;
  const {
    url,
    appRole: app,
    serviceRole: service,
  } = readSettings({ url: ownerUrl, ...roleSettings });
  const done = await runMigrations(url, { app, service }).catch(explain('DATABASE_OWNER_URL'));
  return done.length === 0 ? 'nothing to migrate\n' : `ran ${done.join(', ')}\n`;
}

/** Asks with the login of the app until no migration is missing or the time has passed. */
async function checkWithin(seconds: number): Promise<Ended> {
  const { url } = readSettings({ url: databaseSettings.settings.url });
  const db = await openDatabase({ url, serviceUrl: url, poolSize: 1 });
  const endsAt = performance.now() + seconds * 1_000;
  try {
    for (;;) {
      const isLast = performance.now() >= endsAt;
      const missing = await findMissing(db).catch((error: unknown) => {
        // The first migration of all gives the right.
        if (lacksRight(error)) return migrationNames;
        if (isLast || !isAway(error)) return explain('DATABASE_URL')(error);
        return migrationNames;
      });
      if (missing.length === 0) return { output: 'nothing is missing\n', exitCode: exitCodes.ok };
      if (isLast) {
        return { output: `missing ${missing.join(', ')}\n`, exitCode: exitCodes.pending };
      }
      await pause(askEveryMs);
    }
  } finally {
    await db.close();
  }
}

function isAway(error: unknown): boolean {
  if (refusalOf(error) !== undefined) return false;
  return error instanceof AppError ? error.code === 'database_unavailable' : isUnavailable(error);
}

/**
 * Returns a handler that throws an error of one line. It is no ConfigError, even if Postgres
 * refuses the login of the variable: what mends that may be a change in Postgres.
 */
function explain(variable: string) {
  return (error: unknown): never => {
    const refusal = error instanceof MigrationFailed ? undefined : refusalOf(error);
    if (refusal !== undefined) throw new Error(`${variable} ${refusal}`, { cause: error });
    if (error instanceof AppError) throw error;
    throw new Error(describeFailure(error), { cause: error });
  };
}
