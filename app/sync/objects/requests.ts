import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { AppError } from '../../errors/app-error.ts';
import { canonicalText } from '../../json/canonical-text.ts';
import type { Acted } from '../../audit-trail/act.ts';
import { isOld } from './expired-requests.ts';
import type { KeptForm, LoadVersion } from './kept-answers.ts';

const keptDays = 7;

/** A write that the client identifies by a request id of its own. */
interface SyncRequest<Answer> {
  readonly id: string;
  /** The `digestOf` the request. Two requests are the same if their digests are equal. */
  readonly digest: string;
  readonly form: KeptForm<Answer>;
  readonly load: LoadVersion;
  readonly write: () => Promise<Acted<Answer>>;
}

/** Returns the digest of the canonical text of a request's content. */
export function digestOf(content: unknown): string {
  return createHash('sha256').update(canonicalText(content)).digest('hex');
}

/**
 * Performs a write once per request id, and stores its response in the same transaction for 7 days.
 * A replay of the request gets the stored response and records no event. Of concurrent requests
 * with one id, only one performs the write. Throws sync_request_reused if the id was used for
 * another request.
 */
export async function writeOnce<Answer>(
  tx: Tx,
  owner: Owner,
  request: SyncRequest<Answer>,
): Promise<Acted<Answer>> {
  const kept = await claim(tx, owner, request);
  if (kept !== undefined) {
    return { answer: await request.form.fromKept(JSON.parse(kept), request.load), events: [] };
  }
  const written = await request.write();
  await tx
    .updateTable('sync_requests')
    .set({ answer: JSON.stringify(await request.form.toKept(written.answer)) })
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .where('request_id', '=', request.id)
    .execute();
  return written;
}

/**
 * Claims a request id, waiting while another transaction holds it. Returns the stored response of
 * the request id, or undefined if this transaction now holds the id.
 */
async function claim(
  tx: Tx,
  owner: Owner,
  request: Pick<SyncRequest<unknown>, 'id' | 'digest'>,
): Promise<string | undefined> {
  const { id, digest } = request;
  const expires_at = sql<Date>`now() + make_interval(days => ${keptDays})`;
  const fresh = { digest, answer: '', expires_at };
  takesLock(tx, 'sync request');
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('sync_requests')
    .values({ user_id: owner.userId, tenant_id: owner.tenantId, request_id: id, ...fresh })
    .onConflict((conflict) => conflict.columns(['user_id', 'tenant_id', 'request_id']).doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 1n) return undefined;
  const row = await tx
    .selectFrom('sync_requests')
    .select(['digest', 'answer', isOld.as('isOld')])
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .where('request_id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  // Maintenance has just removed the expired row: try to claim the request id again.
  if (row === undefined) return claim(tx, owner, request);
  if (!row.isOld) {
    if (row.digest !== digest) throw new AppError('sync_request_reused');
    return row.answer;
  }
  await tx
    .updateTable('sync_requests')
    .set(fresh)
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .where('request_id', '=', id)
    .execute();
  return undefined;
}
