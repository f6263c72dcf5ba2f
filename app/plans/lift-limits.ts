import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';

/**
 * Lets the rest of a transaction exceed the limits of the plan. Call it in actions that free space
 * or withdraw access, although they record something: they must work at every limit.
 */
export async function liftLimits(tx: Tx): Promise<void> {
  await sql`select set_config('app.limits', '', true)`.execute(tx);
}
