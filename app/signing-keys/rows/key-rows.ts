import { sql } from 'kysely';
import type { SigningPurpose } from '../../../signer/protocol/protocol.ts';
import { isOfMonths, readMonthsAway } from '../../audit-trail/archived-months.ts';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { AppError } from '../../errors/app-error.ts';
import { keyColumns } from '../../proof/registered-key.ts';
import type { SignerClock } from './signer-clock.ts';

export type KeyRow = Awaited<ReturnType<typeof lockKeys>>[number];

interface KeyFacts {
  readonly left: number;
  readonly recorded: boolean;
  readonly recordId: string | null;
}

/**
 * Throws key_not_published, with the remaining seconds, unless the key was registered
 * `publishSeconds` ago and its record is signed.
 */
export async function requirePublished(
  tx: Tx,
  keyId: string,
  publishSeconds: number,
): Promise<void> {
  const { rows } = await sql<KeyFacts>`
    select ceil(${publishSeconds} - extract(epoch from clock_timestamp() - k.registered_at))::int
        as "left",
      exists (select from audit_seals where entry_id = k.record_id) as recorded,
      k.record_id as "recordId"
    from signing_keys k
    where k.key_id = ${keyId}`.execute(tx);
  const { left = 1, recorded = false, recordId = null } = rows[0] ?? {};
  const isArchived = async () =>
    recordId !== null && isOfMonths(await readMonthsAway(tx), recordId);
  if (left <= 0 && (recorded || (await isArchived()))) return;
  throw new AppError('key_not_published', { retryAfterSeconds: Math.max(left, 1) });
}

/**
 * Returns the instant at which keys that are locked now change their state. It is not before the
 * activation of the active key, since the clocks of two signers may differ.
 */
export function instantOf(clock: SignerClock, active: KeyRow | undefined): Date {
  return new Date(Math.max(clock().getTime(), active?.activated_at?.getTime() ?? 0));
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

interface Compromise {
  /** The instant since which somebody else may have the key. */
  readonly since: Date;
  /** When the vault learned of it, and the key is retired if it was not yet. */
  readonly at: Date;
  /** The id of the audit entry that records it. */
  readonly recordId: string;
}

export async function setCompromised(
  tx: Tx,
  { key_id: keyId, retired_at: retiredAt }: KeyRow,
  { since, at, recordId }: Compromise,
): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({
      state: 'COMPROMISED',
      compromised_since: since,
      compromise_id: recordId,
      retired_at: retiredAt ?? at,
    })
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
    .select(keyColumns)
    .where('purpose', '=', purpose)
    .orderBy('generation')
    .forUpdate()
    .execute();
}
