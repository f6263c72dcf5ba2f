import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';

interface RemovedSharing {
  /** The number of shares that were removed or lost their recipient. */
  readonly shares: number;
  readonly sharingKeys: number;
  /** Whether a batch was full, so that more may be left. */
  readonly isMore: boolean;
}

/**
 * Removes the shares that an owner gave, the recipient ids of or for the owner, and at last the
 * owner's sharing key: at most `limit` of each. `tx` must be a transaction of the service login.
 * Keeps the shares that the owner received, but clears their recipient: a missing share would
 * reveal to its giver that somebody had the e-mail address.
 */
export async function removeSharing(
  tx: Tx,
  { userId }: Owner,
  limit: number,
): Promise<RemovedSharing> {
  const ids = await lockShares(tx, userId, limit);
  await sql`
    delete from document_shares
    where id = any(${ids}::uuid[]) and user_id = ${userId}::uuid`.execute(tx);
  await sql`
    update document_shares set recipient_user_id = null
    where id = any(${ids}::uuid[]) and recipient_user_id = ${userId}::uuid`.execute(tx);
  if (ids.length >= limit) return { shares: ids.length, sharingKeys: 0, isMore: true };
  const recipients = await removeRecipients(tx, userId, limit);
  if (recipients >= limit) return { shares: ids.length, sharingKeys: 0, isMore: true };
  takesLock(tx, 'sharing key');
  const keys = await sql`
    delete from sharing_keys where user_id = ${userId}::uuid`.execute(tx);
  return { shares: ids.length, sharingKeys: Number(keys.numAffectedRows ?? 0), isMore: false };
}

/**
 * Locks shares that a user gave or received, in id order, so that two users who share with each
 * other and close their accounts at the same time cannot deadlock. Resolves with their ids.
 */
async function lockShares(tx: Tx, userId: string, limit: number): Promise<readonly string[]> {
  takesLock(tx, 'share');
  const { rows } = await sql<{ readonly id: string }>`
    select id from document_shares where id in (
      (select id from document_shares where user_id = ${userId}::uuid order by id limit ${limit})
      union all
      (select id from document_shares where recipient_user_id = ${userId}::uuid
       order by id limit ${limit})
    )
    order by id limit ${limit} for update`.execute(tx);
  return rows.map(({ id }) => id);
}

async function removeRecipients(tx: Tx, userId: string, limit: number): Promise<number> {
  takesLock(tx, 'share recipient');
  const removed = await sql`
    with batch as materialized (
      select user_id, tenant_id, recipient_ref from share_recipients
      where user_id = ${userId}::uuid or recipient_user_id = ${userId}::uuid
      order by user_id, recipient_ref limit ${limit} for update
    )
    delete from share_recipients r using batch
    where r.user_id = batch.user_id and r.tenant_id = batch.tenant_id
      and r.recipient_ref = batch.recipient_ref`.execute(tx);
  return Number(removed.numAffectedRows ?? 0);
}
