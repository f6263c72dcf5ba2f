import { sql } from 'kysely';
import type { Database, Tx } from '../../db/database.ts';
import { noMark, timeOfMark } from './mark.ts';

export type MarkRecord = ReturnType<typeof createMarkRecord>;

/**
 * Creates the service that reads and writes the single database row about high-water marks. By this
 * row, replicas take turns to write marks, and a start detects a lost object store.
 */
export function createMarkRecord(db: Database) {
  return {
    /** Returns the id of the newest high-water mark that was written, or noMark. */
    newest: (): Promise<string> => db.asService(newestMarkOf),

    /**
     * Takes the turn to write the next high-water mark. Returns the id of the newest high-water
     * mark, or undefined if a replica took the turn less than `spacingSeconds` ago.
     */
    take: (spacingSeconds: number): Promise<string | undefined> =>
      db.asService(async (tx) => {
        const { rows } = await sql<{ readonly mark_id: string }>`
          insert into audit_marks (id, mark_id, written_at) values (1, ${noMark}::uuid, now())
          on conflict (id) do update set written_at = excluded.written_at
          where audit_marks.written_at <= now() - make_interval(secs => ${spacingSeconds})
          returning mark_id`.execute(tx);
        return rows[0]?.mark_id;
      }),

    /**
     * Records that a high-water mark is in the object store. Has no effect if a newer high-water
     * mark is already recorded.
     */
    written: (markId: string): Promise<void> =>
      db.asService(async (tx) => {
        await tx
          .updateTable('audit_marks')
          .set({ mark_id: sql`greatest(mark_id, ${markId}::uuid)` })
          .execute();
      }),
  };
}

/** Returns the id of the newest high-water mark that the database knows, or noMark. */
export async function newestMarkOf(tx: Tx): Promise<string> {
  const row = await tx.selectFrom('audit_marks').select('mark_id').executeTakeFirst();
  return row?.mark_id ?? noMark;
}

/** The newest high-water mark that the database knows. */
export interface NewestMark {
  readonly id: string;
  readonly writtenAt: Date;
  readonly ageSeconds: number;
}

/** Reads the newest high-water mark that the database knows; undefined if there is none. */
export async function readNewestMark(tx: Tx): Promise<NewestMark | undefined> {
  const row = await tx
    .selectFrom('audit_marks')
    .select(['mark_id', sql<Date>`clock_timestamp()`.as('now')])
    .executeTakeFirst();
  const writtenAt = row === undefined ? undefined : timeOfMark(row.mark_id);
  if (row === undefined || writtenAt === undefined) return undefined;
  // The id has the time of a process, whose clock may be ahead.
  const ageSeconds = Math.max(0, (row.now.getTime() - writtenAt.getTime()) / 1_000);
  return { id: row.mark_id, writtenAt, ageSeconds };
}
