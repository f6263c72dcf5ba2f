import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';

/** Counts of what was removed. */
export interface RemovedSharing {
  readonly shares: number;
  readonly sharingKeys: number;
}

/**
 * Removes every share that an owner gave, with the recipients and the sharing key, in a transaction
 * of the service login. Shares that the owner received are kept without a recipient: their givers
 * must not learn from a missing share that somebody had the e-mail address.
 */
export async function removeSharing(tx: Tx, { userId }: Owner): Promise<RemovedSharing> {
  // Locks in the order of ids: two users who share with each other may leave at the same time.
  takesLock(tx, 'document');
  await sql`
    select id from documents where user_id = ${userId}::uuid order by id for update`.execute(tx);
  takesLock(tx, 'share');
  await sql`
    select id from document_shares
    where recipient_user_id = ${userId}::uuid
      or document_id in (select id from documents where user_id = ${userId}::uuid)
    order by id for update`.execute(tx);
  const given = await sql`
    delete from document_shares
    where document_id in (select id from documents where user_id = ${userId}::uuid)`.execute(tx);
  const got = await sql`
    update document_shares set recipient_user_id = null
    where recipient_user_id = ${userId}::uuid`.execute(tx);
  takesLock(tx, 'share recipient');
  await sql`
    delete from share_recipients where (user_id, recipient_ref) in (
      select user_id, recipient_ref from share_recipients
      where user_id = ${userId}::uuid or recipient_user_id = ${userId}::uuid
      order by user_id, recipient_ref for update
    )`.execute(tx);
  takesLock(tx, 'sharing key');
  const keys = await sql`
    delete from sharing_keys where user_id = ${userId}::uuid`.execute(tx);
  return {
    shares: Number(given.numAffectedRows ?? 0) + Number(got.numAffectedRows ?? 0),
    sharingKeys: Number(keys.numAffectedRows ?? 0),
  };
}
