import { createHash, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database, Owner, Tx } from '../db/database.ts';
import { keepLease } from '../db/leases/keep-lease.ts';
import { leaseEnd, retryAfterSeconds, secondsLeft } from '../db/leases/lease.ts';
import { AppError } from '../errors/app-error.ts';
import type { IdempotencyKeys, KeptAnswer, KeyClaim } from '../http/routing/idempotency.ts';
import { isOld } from './expired-keys.ts';

/** Creates the store of Idempotency-Keys in Postgres, which contains only hashes of the keys. */
export function createIdempotencyKeys({ db }: { readonly db: Database }): IdempotencyKeys {
  return {
    claim: (owner, key, requestHash) =>
      db.asUser(owner, async (tx) => {
        const keyHash = hashKey(owner, key);
        const claimId = await takeKey(tx, owner, keyHash, requestHash);
        return claimId === undefined
          ? loadAnswer(tx, owner, keyHash, requestHash)
          : createClaim(db, owner, { keyHash, claimId });
      }),
  };
}

/**
 * Hashes an Idempotency-Key together with the tenant, so that a key that a user sent in one tenant
 * neither reveals nor blocks anything in another tenant.
 */
function hashKey({ tenantId }: Owner, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([tenantId, key]))
    .digest('hex');
}

/**
 * Claims the key for a request and resolves with the id of the claim. Resolves with undefined if
 * the key is in use: by a different request, by the same request that is still running, or by the
 * kept response of the same request.
 */
async function takeKey(
  tx: Tx,
  { userId, tenantId }: Owner,
  keyHash: string,
  requestHash: string,
): Promise<string | undefined> {
  // The commit of the action flushes the claim too: the claim alone need not wait for the disk.
  await sql`set local synchronous_commit = off`.execute(tx);
  const claim = {
    request_hash: requestHash,
    claim_id: randomUUID(),
    claimed_until: leaseEnd(),
    status: null,
    response: null,
    created_at: sql<Date>`now()`,
  };
  const taken = await tx
    .insertInto('idempotency_keys')
    .values({ user_id: userId, tenant_id: tenantId, key_hash: keyHash, ...claim })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'key_hash'])
        .doUpdateSet(claim)
        .where(({ and, eb, or, ref }) =>
          or([
            isOld,
            and([
              eb(ref('idempotency_keys.request_hash'), '=', requestHash),
              eb(ref('idempotency_keys.status'), 'is', null),
              eb(ref('idempotency_keys.claimed_until'), '<', sql<Date>`now()`),
            ]),
          ]),
        ),
    )
    .returning('claim_id')
    .executeTakeFirst();
  return taken?.claim_id;
}

/**
 * Loads the response that was kept under a key in use. Throws idempotency_key_reused if the key was
 * used for another request, and idempotency_in_progress if there is no response yet.
 */
async function loadAnswer(
  tx: Tx,
  { userId }: Owner,
  keyHash: string,
  requestHash: string,
): Promise<KeptAnswer> {
  const row = await tx
    .selectFrom('idempotency_keys')
    .select(['request_hash', 'status', 'response', secondsLeft('claimed_until').as('secondsLeft')])
    .where('user_id', '=', userId)
    .where('key_hash', '=', keyHash)
    .executeTakeFirst();
  // The other request has just released the key: the client has to try again.
  if (row === undefined) throw inProgress();
  if (row.request_hash !== requestHash) throw new AppError('idempotency_key_reused');
  if (row.status === null || row.response === null) {
    throw inProgress(retryAfterSeconds(row.secondsLeft ?? 0));
  }
  return { status: row.status, body: row.response };
}

/**
 * Creates the claim of a request. `claimId` is its fencing token: a request that lost the claim
 * cannot keep a response, and so its action is rolled back.
 */
function createClaim(
  db: Database,
  owner: Owner,
  { keyHash, claimId }: { readonly keyHash: string; readonly claimId: string },
): KeyClaim {
  const lease = keepLease({
    async renew() {
      const { numUpdatedRows } = await db.asUser(owner, (tx) =>
        tx
          .updateTable('idempotency_keys')
          .set({ claimed_until: leaseEnd() })
          .where('user_id', '=', owner.userId)
          .where('key_hash', '=', keyHash)
          .where('claim_id', '=', claimId)
          .where('status', 'is', null)
          .executeTakeFirst(),
      );
      return numUpdatedRows > 0n;
    },
    release: () =>
      db.asUser(owner, (tx) =>
        tx
          .deleteFrom('idempotency_keys')
          .where('user_id', '=', owner.userId)
          .where('key_hash', '=', keyHash)
          .where('claim_id', '=', claimId)
          .where('status', 'is', null)
          .execute(),
      ),
  });
  return {
    async keep(tx, { status, body }) {
      // A renewal would wait for the row that this transaction locks.
      lease.stop();
      const { numUpdatedRows } = await tx
        .updateTable('idempotency_keys')
        .set({ status, response: body })
        .where('user_id', '=', owner.userId)
        .where('key_hash', '=', keyHash)
        .where('claim_id', '=', claimId)
        .where('status', 'is', null)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw inProgress();
    },
    release: lease.release,
  };
}

function inProgress(retryAfterSeconds = 2): AppError {
  return new AppError('idempotency_in_progress', { retryAfterSeconds });
}
