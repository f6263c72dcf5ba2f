import type { Database } from '../db/database.ts';
import type { Isolation } from '../db/isolation/isolation.ts';
import { CheckError } from './check.ts';

/** The parts of the database that answer without a connection of a pool. */
export interface DatabaseFacts {
  readonly db: Pick<Database, 'ping'>;
  readonly isolation: Pick<Isolation, 'assertKept' | 'breach' | 'isBehind'>;
}

/** Throws unless the database responds and is known to isolate users from each other. */
export async function assertDatabaseServes({ db, isolation }: DatabaseFacts): Promise<void> {
  if (isolation.breach !== undefined) throw new CheckError('isolation_broken');
  await db.ping();
  if (isolation.isBehind) throw new CheckError('schema_behind');
  isolation.assertKept();
}
