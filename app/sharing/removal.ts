import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';

/** How many there were. */
export interface RemovedSharing {
  readonly shares: number;
  readonly sharingKeys: number;
}

/**
 * Removes every share that an owner gave, in the service's transaction, with the recipients and the key
 * that they shared by. Those that they got are from now on nobody's: to who gave them they look as
 * before, since a share that goes would tell that somebody had the address.
 */
export async function removeSharing(tx: Tx, { userId }: Owner): Promise<RemovedSharing> {
  // Documents before shares, as elsewhere, and both in order: two who share with each other may go
  // at the same time.
  await sql`
    select id from documents where user_id = ${userId}::uuid order by id for update`.execute(tx);
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
  await sql`
    delete from share_recipients where (user_id, recipient_ref) in (
      select user_id, recipient_ref from share_recipients
      where user_id = ${userId}::uuid or recipient_user_id = ${userId}::uuid
      order by user_id, recipient_ref for update
    )`.execute(tx);
  const keys = await sql`
    delete from sharing_keys where user_id = ${userId}::uuid`.execute(tx);
  return {
    shares: Number(given.numAffectedRows ?? 0) + Number(got.numAffectedRows ?? 0),
    sharingKeys: Number(keys.numAffectedRows ?? 0),
  };
}
