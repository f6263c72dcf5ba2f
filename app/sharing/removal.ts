import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';

/** The numbers of shares that were removed or lost their recipient, and of removed sharing keys. */
export interface RemovedSharing {
  readonly shares: number;
  readonly sharingKeys: number;
}

/**
 * Removes every share that an owner gave, the recipient ids of or for the owner, and the owner's
 * sharing key. `tx` must be a transaction of the service login. Keeps the shares that the owner
 * received, but clears their recipient: a missing share would reveal to its giver that somebody had
 * the e-mail address.
 */
export async function removeSharing(tx: Tx, { userId }: Owner): Promise<RemovedSharing> {
  // Locks in id order, so that two users who share with each other and close their accounts at the
  // same time cannot deadlock.
  // Counts the locked rows, since returning them would take memory for each.
  takesLock(tx, 'document');
  await sql`
    select count(*) from (
      select id from documents where user_id = ${userId}::uuid order by id for update
    ) as locked`.execute(tx);
  takesLock(tx, 'share');
  await sql`
    select count(*) from (
      select id from document_shares
      where recipient_user_id = ${userId}::uuid
        or document_id in (select id from documents where user_id = ${userId}::uuid)
      order by id for update
    ) as locked`.execute(tx);
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
