import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';

/** How many there were. */
export interface RemovedSharing {
  readonly shares: number;
  readonly sharingKeys: number;
}

/**
 * Removes every share that an owner gave or got, in the service's transaction, with the recipients
 * and the key that they shared by.
 */
export async function removeSharing(tx: Tx, { userId }: Owner): Promise<RemovedSharing> {
  // Documents before shares, as elsewhere, and both in order: two who share with each other may go
  // at the same time.
  await sql`
    select id from documents where user_id = ${userId}::uuid order by id for update`.execute(tx);
  const shares = await sql`
    delete from document_shares where id in (
      select id from document_shares
      where recipient_user_id = ${userId}::uuid
        or document_id in (select id from documents where user_id = ${userId}::uuid)
      order by id for update
    )`.execute(tx);
  await sql`
    delete from share_recipients where (user_id, recipient_ref) in (
      select user_id, recipient_ref from share_recipients
      where user_id = ${userId}::uuid or recipient_user_id = ${userId}::uuid
      order by user_id, recipient_ref for update
    )`.execute(tx);
  const keys = await sql`
    delete from sharing_keys where user_id = ${userId}::uuid`.execute(tx);
  return {
    shares: Number(shares.numAffectedRows ?? 0),
    sharingKeys: Number(keys.numAffectedRows ?? 0),
  };
}
