import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Sql } from '../vault/sql.ts';
import { eventOf, type TestTrail } from './entries.ts';
import { appending } from './log-rows.ts';

/**
 * Stores made-up seals of entries that wait in the queue, as if the signer had sealed them. The
 * vault's own entries may wait there too, and must keep their true seals.
 */
export async function pretendSealed(sql: Sql, entryIds: readonly unknown[]): Promise<void> {
  await sql(
    `with sealed as (delete from audit_queue where entry_id = any($1) returning entry_id)
     insert into audit_seals (entry_id, hash, signature, key_id, sealed_at, late)
     select entry_id, sha256(entry_id::text::bytea), '\\x00', '\\x00', now(), false from sealed`,
    [entryIds],
  );
}

/** Puts entries into the dead-letter queue, whether they are sealed or not. */
export async function putInDlq(
  sql: Sql,
  entryIds: readonly unknown[],
  reason = 'not_canonical',
): Promise<void> {
  await sql(
    `with unqueued as (delete from audit_queue where entry_id = any($1)),
       unsealed as (delete from audit_seals where entry_id = any($1))
     insert into audit_dead_letters (entry_id, reason, attempts)
     select id, $2, 5 from unnest($1::uuid[]) id`,
    [entryIds, reason],
  );
}

/** Makes entries pending again; with a lease of a day, so that no sealer takes them. */
export async function makePending(sql: Sql, entryIds: readonly unknown[]): Promise<void> {
  await sql(
    `with unsealed as (delete from audit_seals where entry_id = any($1)),
       letters as (delete from audit_dead_letters where entry_id = any($1))
     insert into audit_queue (entry_id, user_id, is_tallied, claim_id, claimed_until)
     select id, user_id, false, gen_random_uuid(), now() + interval '1 day'
     from audit_log where id = any($1)`,
    [entryIds],
  );
}

interface Spoilt {
  readonly id: string;
  readonly resourceId: string;
  /** The text before. */
  readonly text: string;
}

/**
 * Appends an entry, and gives it another text before a sealer takes it: only a superuser can. The
 * entry is leased for a day, until `release` is called.
 */
export async function appendSpoilt(
  { db, trail, owner }: TestTrail,
  sql: Sql,
  textOf: (id: string) => string,
): Promise<Spoilt> {
  const resourceId = randomUUID();
  const id = await db.asService(async (tx) => {
    const appended = await trail.append(tx, eventOf(owner, resourceId));
    await tx
      .updateTable('audit_queue')
      .set({ claimed_until: new Date(Date.now() + 86_400_000) })
      .where('entry_id', '=', appended)
      .execute();
    return appended;
  });
  const [row] = await sql('select canonical from audit_log where id = $1', [id]);
  await sql('update audit_log set canonical = $2 where id = $1', [id, textOf(id)]);
  return { id, resourceId, text: String(row?.['canonical']) };
}

/** Ends the lease of an entry, so that sealers take it. */
export async function release(sql: Sql, id: string): Promise<void> {
  await sql('update audit_queue set claimed_until = null where entry_id = $1', [id]);
}

/** Inserts pending entries of an owner and returns their ids, oldest first. */
export async function insertEntries(
  sql: Sql,
  count: number,
  ownerId: string = randomUUID(),
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7());
  await sql(
    appending(`
     select id, $2, 'default', 'upload', id::text, 1, 'upload.created', '{}'
     from unnest($1::uuid[]) id`),
    [ids, ownerId],
  );
  return ids;
}
