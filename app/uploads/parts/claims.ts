import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database, Owner, Tx } from '../../db/database.ts';
import { keepLease, type KeptLease } from '../../db/leases/keep-lease.ts';
import { leaseEnd, retryAfterSeconds, secondsLeft } from '../../db/leases/lease.ts';
import { AppError } from '../../errors/app-error.ts';
import { lockOpenSession, type SessionRow } from '../sessions/session-rows.ts';
import { declaredFile, sizesThatFit, type SettledParts } from './part-sizes.ts';
import { assertCanAddUp, loadParts } from './recorded-parts.ts';

export interface PartTarget {
  readonly sessionId: string;
  readonly partNumber: number;
}

/** The right to receive one part, held by one request at a time across all replicas. */
export interface PartClaim extends PartTarget {
  /** Fencing token: a request that lost its claim can no longer record the part. */
  readonly claimId: string;
}

/** A part that is stored and recorded. `sha256` is base64. */
export interface RecordedPart {
  readonly size: number;
  readonly etag: string;
  readonly sha256: string;
}

/**
 * Claims a part, or returns the recorded part if the part is already stored. Throws
 * part_in_progress while another request holds the claim.
 */
export async function claimPart(
  tx: Tx,
  owner: Owner,
  { sessionId, partNumber }: PartTarget,
  size: number,
): Promise<PartClaim | RecordedPart> {
  // The commit need not wait for the disk: losing a claim in a crash only costs a retry.
  await sql`set local synchronous_commit = off`.execute(tx);
  const claimId = randomUUID();
  const claimed = await tx
    .insertInto('upload_parts')
    .values({
      session_id: sessionId,
      part_number: partNumber,
      user_id: owner.userId,
      tenant_id: owner.tenantId,
      size,
      claim_id: claimId,
      claimed_until: leaseEnd(),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['session_id', 'part_number'])
        .doUpdateSet({ size, claim_id: claimId, claimed_until: leaseEnd() })
        .where('upload_parts.user_id', '=', owner.userId)
        .where('upload_parts.tenant_id', '=', owner.tenantId)
        .where('upload_parts.stored_at', 'is', null)
        .where(sql<boolean>`upload_parts.claimed_until < now()`),
    )
    .returning('claim_id')
    .executeTakeFirst();
  if (claimed !== undefined) return { sessionId, partNumber, claimId };

  const recorded = await tx
    .selectFrom('upload_parts')
    .select(['size', 'etag', 'sha256', secondsLeft('claimed_until').as('secondsLeft')])
    .where('session_id', '=', sessionId)
    .where('part_number', '=', partNumber)
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .executeTakeFirstOrThrow();
  const { size: recordedSize, etag, sha256 } = recorded;
  if (recordedSize === null || etag === null || sha256 === null) {
    throw inProgress(retryAfterSeconds(recorded.secondsLeft ?? 0));
  }
  return { size: recordedSize, etag, sha256 };
}

/**
 * Checks that the other parts can still make up the file if this part has `size` bytes, where
 * stored and claimed parts keep their sizes. Throws invalid_part_size, which states the sizes that
 * fit. If none fits, throws parts_cannot_fit, or part_in_progress if a claimed part is the cause.
 */
export async function assertFits(
  tx: Tx,
  session: SessionRow,
  partNumber: number,
  size: number,
): Promise<void> {
  const others = await settledBeside(tx, session, partNumber);
  const { smallest, largest } = sizesThatFit(declaredFile(session), partNumber, others);
  if (smallest > largest) {
    const owner = { userId: session.user_id, tenantId: session.tenant_id };
    assertCanAddUp(session, await loadParts(tx, owner, session.id));
    throw inProgress();
  }
  if (size < smallest || size > largest) throw invalidSize(size, smallest, largest);
}

/** Adds up the parts of a session, other than one, that are stored or that a request receives. */
async function settledBeside(
  tx: Tx,
  { id, user_id: userId, tenant_id: tenantId, total_parts: last }: SessionRow,
  partNumber: number,
): Promise<SettledParts> {
  const { count, bytes, hasLast } = await tx
    .selectFrom('upload_parts')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.sum<string | null>('size').as('bytes'),
      sql<boolean | null>`bool_or(part_number = ${last})`.as('hasLast'),
    ])
    .where('session_id', '=', id)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('part_number', '<>', partNumber)
    .where(sql<boolean>`(stored_at is not null or claimed_until > now())`)
    .executeTakeFirstOrThrow();
  return { count, bytes: Number(bytes ?? 0), hasLast: hasLast ?? false };
}

function invalidSize(size: number, smallest: number, largest: number): AppError {
  const expected = smallest === largest ? `${smallest}` : `${smallest} to ${largest}`;
  const message = `received ${size} bytes; expected ${expected} bytes`;
  return new AppError('invalid_part_size', { details: [{ path: 'Content-Length', message }] });
}

interface KeptClaim extends KeptLease {
  /** Aborts with part_in_progress after another request has taken over the claim. */
  readonly lost: AbortSignal;
}

/** Keeps a claim until it is stopped or released, so that clients can send the part again. */
export function keepClaim(db: Database, owner: Owner, claim: PartClaim): KeptClaim {
  const losing = new AbortController();
  const lease = keepLease({
    async renew() {
      const { numUpdatedRows } = await db.asUser(owner, (tx) =>
        ofClaim(
          tx.updateTable('upload_parts').set({ claimed_until: leaseEnd() }),
          owner,
          claim,
        ).executeTakeFirst(),
      );
      return numUpdatedRows > 0n;
    },
    release: () =>
      db.asUser(owner, (tx) => ofClaim(tx.deleteFrom('upload_parts'), owner, claim).execute()),
    onLost: () => losing.abort(inProgress()),
  });
  return { ...lease, lost: losing.signal };
}

/**
 * Records a part. Throws part_in_progress if the claim was lost, or as `lockOpenSession` does. If
 * the claim has expired, other parts may have been accepted meanwhile that leave no room for this
 * part: throws as `assertFits` does.
 */
export async function recordPart(
  tx: Tx,
  owner: Owner,
  claim: PartClaim,
  part: RecordedPart,
  now: Date,
): Promise<void> {
  const session = await lockOpenSession(tx, owner, claim.sessionId, now);
  const { numUpdatedRows } = await ofClaim(
    tx
      .updateTable('upload_parts')
      .set({ ...part, stored_at: now, claim_id: null, claimed_until: null }),
    owner,
    claim,
  ).executeTakeFirst();
  if (numUpdatedRows === 0n) throw inProgress();
  await assertFits(tx, session, claim.partNumber, part.size);
}

function inProgress(retryAfterSeconds = 2): AppError {
  return new AppError('part_in_progress', { retryAfterSeconds });
}

interface Filterable<Q> {
  where(
    column: 'session_id' | 'part_number' | 'user_id' | 'tenant_id' | 'claim_id',
    operator: '=',
    value: string | number,
  ): Q;
}

function ofClaim<Q extends Filterable<Q>>(query: Q, owner: Owner, claim: PartClaim): Q {
  return query
    .where('session_id', '=', claim.sessionId)
    .where('part_number', '=', claim.partNumber)
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .where('claim_id', '=', claim.claimId);
}
