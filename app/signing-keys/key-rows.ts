import { sql } from 'kysely';
import type { SigningPurpose } from '../../signer/protocol/protocol.ts';
import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { AppError } from '../errors/app-error.ts';

export type KeyRow = Awaited<ReturnType<typeof lockKeys>>[number];

/**
 * Throws key_not_published, with the remaining seconds, unless the key was registered
 * `publishSeconds` ago and its record is signed.
 */
export async function requirePublished(
  tx: Tx,
  keyId: string,
  publishSeconds: number,
): Promise<void> {
  const { rows } = await sql<{ readonly left: number; readonly recorded: boolean }>`
    select ceil(${publishSeconds} - extract(epoch from clock_timestamp() - k.registered_at))::int
        as "left",
      exists (select from audit_entries e where e.id = k.record_id and e.state = 'SEALED')
        as recorded
    from signing_keys k
    where k.key_id = ${keyId}`.execute(tx);
  const { left = 1, recorded = false } = rows[0] ?? {};
  if (recorded && left <= 0) return;
  throw new AppError('key_not_published', { retryAfterSeconds: Math.max(left, 1) });
}

/**
 * Returns the time of the database's clock, which also dates seals. Call it after the keys were
 * locked. The time is rounded as in the database, so that no earlier seal has a later time.
 */
export async function readClock(tx: Tx): Promise<Date> {
  const { rows } = await sql<{ readonly at: Date }>`
    select clock_timestamp()::timestamptz(3) as at`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no time');
  return row.at;
}

export async function setActive(tx: Tx, { key_id: keyId }: KeyRow, at: Date): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ state: 'ACTIVE', activated_at: at })
    .where('key_id', '=', keyId)
    .execute();
}

export async function setRetired(tx: Tx, { key_id: keyId }: KeyRow, at: Date): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ state: 'RETIRED', retired_at: at })
    .where('key_id', '=', keyId)
    .execute();
}

/**
 * Locks the rows of a purpose's keys until the transaction ends, so that concurrent rotations
 * cannot activate two keys.
 */
export async function lockKeys(tx: Tx, purpose: SigningPurpose) {
  takesLock(tx, 'signing keys');
  return tx
    .selectFrom('signing_keys')
    .selectAll()
    .where('purpose', '=', purpose)
    .orderBy('generation')
    .forUpdate()
    .execute();
}
