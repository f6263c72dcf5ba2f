import { isUnavailable } from './unavailable.ts';
import { MigrationFailed } from './migrating/migration-failed.ts';
import { behindPooler, readOnly } from './migrating/owner-session.ts';

/** The remedies by SQLSTATE. */
const remedies: ReadonlyMap<string, string> = new Map([
  ['08P01', behindPooler],
  ['25006', readOnly],
  ['53100', 'the database has no room left: make room, and call probatio migrate again'],
  [
    '55P03',
    'a lock was not to be had for ten minutes: end the long transactions that ' +
      'pg_stat_activity shows, and call probatio migrate again',
  ],
]);

/** Describes in one line why migrations failed, and what to do. */
export function describeFailure(error: unknown): string {
  const failed = error instanceof MigrationFailed ? error.message : undefined;
  const cause = error instanceof MigrationFailed ? error.cause : error;
  const parts = [failed, reasonOf(cause)].filter((part) => part !== undefined);
  return parts.join(': ').replace(/\s*\n\s*/g, ' ');
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code = '' } = error as { code?: string };
  const remedy = remedies.get(code);
  if (remedy !== undefined) return remedy;
  const message = error.message === '' ? code : error.message;
  return isUnavailable(error) ? `Postgres is away or refuses work: ${message}` : message;
}
