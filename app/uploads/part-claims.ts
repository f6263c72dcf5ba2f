import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database, Owner, Tx } from '../db/database.ts';
import { AppError } from '../errors.ts';
import { assertNotExpired, assertOpen, lockSession } from './session-rows.ts';

/** A dead process's claim ends within this time; a living one renews it well before. */
const leaseSeconds = 15;
const renewMs = 5_000;

/** The right to receive one part, held by one request at a time across all replicas. */
export interface PartClaim {
  readonly sessionId: string;
  readonly partNumber: number;
  /** Fencing token: a request that lost its claim can no longer record the part. */
  readonly claimId: string;
}

/** A part as recorded. `sha256` is base64. */
export interface RecordedPart {
  readonly size: number;
  readonly etag: string;
  readonly sha256: string;
}

/**
 * Claims a part, or answers what is recorded of it already.
 * Throws part_in_progress while another request holds it.
 */
export async function claimPart(
  tx: Tx,
  owner: Owner,
  sessionId: string,
  partNumber: number,
): Promise<PartClaim | RecordedPart> {
  const claimId = randomUUID();
  const claimed = await tx
    .insertInto('upload_parts')
    .values({
      session_id: sessionId,
      part_number: partNumber,
      user_id: owner.userId,
      tenant_id: owner.tenantId,
      claim_id: claimId,
      claimed_until: leaseEnd(),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['session_id', 'part_number'])
        .doUpdateSet({ claim_id: claimId, claimed_until: leaseEnd() })
        .where('upload_parts.stored_at', 'is', null)
        .where(sql<boolean>`upload_parts.claimed_until < now()`),
    )
    .returning('claim_id')
    .executeTakeFirst();
  if (claimed !== undefined) return { sessionId, partNumber, claimId };

  const { size, etag, sha256 } = await tx
    .selectFrom('upload_parts')
    .select(['size', 'etag', 'sha256'])
    .where('session_id', '=', sessionId)
    .where('part_number', '=', partNumber)
    .executeTakeFirstOrThrow();
  if (size === null || etag === null || sha256 === null) {
    throw new AppError('part_in_progress', { retryAfterSeconds: 2 });
  }
  return { size, etag, sha256 };
}

/** Keeps a claim alive until the answer is called. A renewal that fails is tried again. */
export function keepClaim(db: Database, owner: Owner, claim: PartClaim): () => void {
  const timer = setInterval(() => {
    db.asUser(owner, (tx) =>
      ofClaim(tx.updateTable('upload_parts').set({ claimed_until: leaseEnd() }), claim).execute(),
    ).catch(() => undefined);
  }, renewMs);
  return () => clearInterval(timer);
}

/** Records the part. Throws part_in_progress when the claim was lost, and as the session has it. */
export async function recordPart(
  tx: Tx,
  claim: PartClaim,
  part: RecordedPart,
  now: Date,
): Promise<void> {
  const session = await lockSession(tx, claim.sessionId);
  assertNotExpired(session, now);
  assertOpen(session, now);
  const { numUpdatedRows } = await ofClaim(
    tx
      .updateTable('upload_parts')
      .set({ ...part, stored_at: now, claim_id: null, claimed_until: null }),
    claim,
  ).executeTakeFirst();
  if (numUpdatedRows === 0n) throw new AppError('part_in_progress', { retryAfterSeconds: 2 });
}

/** Gives the part up, so that it can be sent again at once. */
export async function releaseClaim(db: Database, owner: Owner, claim: PartClaim): Promise<void> {
  await db.asUser(owner, (tx) => ofClaim(tx.deleteFrom('upload_parts'), claim).execute());
}

function leaseEnd() {
  return sql<Date>`now() + make_interval(secs => ${leaseSeconds})`;
}

interface Filterable<Q> {
  where(
    column: 'session_id' | 'part_number' | 'claim_id',
    operator: '=',
    value: string | number,
  ): Q;
}

function ofClaim<Q extends Filterable<Q>>(query: Q, claim: PartClaim): Q {
  return query
    .where('session_id', '=', claim.sessionId)
    .where('part_number', '=', claim.partNumber)
    .where('claim_id', '=', claim.claimId);
}
