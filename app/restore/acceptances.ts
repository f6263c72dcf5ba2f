import { sql } from 'kysely';
import type { Database, Tx } from '../db/database.ts';
import type { Part } from './high-water-marks/comparison.ts';
import { newestMarkOf } from './high-water-marks/mark-record.ts';

export type Acceptances = ReturnType<typeof createAcceptances>;

/**
 * Stores that an operator accepts the state that a refused start named by a high-water mark. It
 * replaces every earlier acceptance. Throws if no start can name this mark any more.
 */
export async function acceptMark(tx: Tx, markId: string): Promise<void> {
  const newest = await newestMarkOf(tx);
  if (markId < newest) {
    throw new Error(
      `the database knows the newer mark ${newest}: give the mark that the refused start names`,
    );
  }
  await tx.deleteFrom('restore_acceptances').execute();
  await tx.insertInto('restore_acceptances').values({ mark_id: markId }).execute();
}

/**
 * Returns whether the transaction is the first to record what an acceptance gives up: of several
 * processes one does so. Returns undefined if there is no such acceptance any more.
 */
export async function takeRecording(tx: Tx, markId: string): Promise<boolean | undefined> {
  const acceptance = await tx
    .selectFrom('restore_acceptances')
    .select('recorded_at')
    .where('mark_id', '=', markId)
    .forUpdate()
    .executeTakeFirst();
  if (acceptance === undefined) return undefined;
  if (acceptance.recorded_at !== null) return false;
  await tx
    .updateTable('restore_acceptances')
    .set({ recorded_at: sql`now()` })
    .where('mark_id', '=', markId)
    .execute();
  return true;
}

/**
 * Ends acceptances once a mark of the accepted state is in the object store: those of earlier
 * marks, and those that were used.
 */
export async function endAcceptances(tx: Tx, writtenMarkId: string): Promise<void> {
  await tx
    .deleteFrom('restore_acceptances')
    .where((row) => row.or([row('mark_id', '<', writtenMarkId), row('lacking', 'is not', null)]))
    .execute();
}

/** Creates the service by which a start asks for the acceptance of its operator. */
export function createAcceptances(db: Database) {
  return {
    /**
     * Uses the acceptance of a mark, and returns whether there is one. The first use binds it to
     * the parts that are lacking: replicas and restarts may use it too until a new mark is written,
     * but not once another part is lacking.
     */
    use: (markId: string, lacking: readonly Part[]): Promise<boolean> =>
      db.asService(async (tx) => {
        const { rows } = await sql`
          update restore_acceptances set lacking = coalesce(lacking, ${lacking}::text[])
          where mark_id = ${markId} and (lacking is null or lacking @> ${lacking}::text[])
          returning mark_id`.execute(tx);
        return rows.length > 0;
      }),

    /** Returns the mark that an operator has accepted; undefined if there is none. */
    accepted: (): Promise<string | undefined> =>
      db.asService(async (tx) => {
        const row = await tx.selectFrom('restore_acceptances').select('mark_id').executeTakeFirst();
        return row?.mark_id;
      }),
  };
}
