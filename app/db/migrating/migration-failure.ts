import { isUnavailable } from '../unavailable.ts';
import { MigrationFailed } from './migration-failed.ts';
import { behindPooler, readOnly } from './owner-session.ts';

/** Returns the remedies by SQLSTATE for a command that works as the owner. */
const remediesFor = (command: string): ReadonlyMap<string, string> =>
  new Map([
    ['08P01', behindPooler],
    ['25006', readOnly],
    ['53100', `the database has no room left: make room, and call ${command} again`],
    [
      '55P03',
      'a lock was not to be had for ten minutes: end the long transactions that ' +
        `pg_stat_activity shows, and call ${command} again`,
    ],
  ]);

/** Describes in one line why a command that works as the owner failed, and what to do. */
export function describeFailure(error: unknown, command = 'probatio migrate'): string {
  const failed = error instanceof MigrationFailed ? error.message : undefined;
  const cause = error instanceof MigrationFailed ? error.cause : error;
  const parts = [failed, reasonOf(cause, command)].filter((part) => part !== undefined);
  return parts.join(': ').replace(/\s*\n\s*/g, ' ');
}

function reasonOf(error: unknown, command: string): string {
  if (!(error instanceof Error)) return String(error);
  const { code = '' } = error as { code?: string };
  const remedy = remediesFor(command).get(code);
  if (remedy !== undefined) return remedy;
  const message = error.message === '' ? code : error.message;
  return isUnavailable(error) ? `Postgres is away or refuses work: ${message}` : message;
}
