import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { z } from 'zod';
import { canonicalText } from '../../json/canonical-text.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import { isOld } from './old-requests.ts';

const keptDays = 7;

/** A write under the client's own id. */
export interface SyncRequest<Answer> {
  readonly id: string;
  /** JSON: the same request is the same JSON, however written. */
  readonly asked: unknown;
  /** What the kept text is read by. */
  readonly answer: z.ZodType<Answer>;
}

/**
 * Acts, and keeps the answer in the same transaction for 7 days; within them the same request gets
 * it again, and of requests at once one acts. Throws sync_request_reused for another one.
 */
export async function actOnce<Answer>(
  tx: Tx,
  owner: Owner,
  request: SyncRequest<Answer>,
  act: () => Promise<Answer>,
): Promise<Answer> {
  const kept = await claim(tx, owner, request);
  if (kept !== undefined) return request.answer.parse(JSON.parse(kept));
  const answer = await act();
  await tx
    .updateTable('sync_requests')
    .set({ answer: JSON.stringify(answer) })
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .where('request_id', '=', request.id)
    .execute();
  return answer;
}

/** Waits for whoever has the id. Answers what they kept; undefined once the id is ours. */
async function claim(
  tx: Tx,
  owner: Owner,
  request: Pick<SyncRequest<unknown>, 'id' | 'asked'>,
): Promise<string | undefined> {
  const { id, asked } = request;
  const digest = createHash('sha256').update(canonicalText(asked)).digest('hex');
  const expires_at = sql<Date>`now() + make_interval(days => ${keptDays})`;
  const fresh = { digest, answer: '', expires_at };
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
  // An old one, which maintenance has removed since.
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
