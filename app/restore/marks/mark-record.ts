import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { noMark } from './mark.ts';

/** The one row by which replicas write marks in turn, and by which a lost object store is noticed. */
export interface MarkRecord {
  /** The newest mark that was written, or noMark. */
  newest(): Promise<string>;
  /** Answers it to the one whose turn it is; undefined if another's was so many seconds ago or less. */
  take(spacingSeconds: number): Promise<string | undefined>;
  /** The mark is in the object store. One that is older than the newest changes nothing. */
  written(markId: string): Promise<void>;
}

export function createMarkRecord(db: Database): MarkRecord {
  return {
    newest: () =>
      db.asService(async (tx) => {
        const row = await tx.selectFrom('audit_marks').select('mark_id').executeTakeFirst();
        return row?.mark_id ?? noMark;
      }),

    take: (spacingSeconds) =>
      db.asService(async (tx) => {
        const { rows } = await sql<{ mark_id: string }>`
          insert into audit_marks (id, mark_id, written_at) values (1, ${noMark}::uuid, now())
          on conflict (id) do update set written_at = excluded.written_at
          where audit_marks.written_at <= now() - make_interval(secs => ${spacingSeconds})
          returning mark_id`.execute(tx);
        return rows[0]?.mark_id;
      }),

    written: (markId) =>
      db.asService(async (tx) => {
        await tx
          .updateTable('audit_marks')
          .set({ mark_id: sql`greatest(mark_id, ${markId}::uuid)` })
          .execute();
      }),
  };
}
