import type { Sql } from '../vault/sql.ts';

/** Stores made-up seals of all entries in the queue, as if the signer had sealed them. */
export async function pretendSealed(sql: Sql): Promise<void> {
  await sql(
    `with sealed as (delete from audit_queue returning entry_id)
     insert into audit_seals (entry_id, hash, signature, key_id, sealed_at, late)
     select entry_id, sha256(entry_id::text::bytea), '\\x00', '\\x00', now(), false from sealed`,
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
