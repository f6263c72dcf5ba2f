import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';

/** A counter that differs from the rows that it counts. */
export interface Drift {
  readonly owner: Owner;
  readonly counter: string;
  readonly counted: number;
  readonly actual: number;
}

/**
 * Compares the counters of all users with their rows. One statement reads both, so that concurrent
 * changes cause no difference. Reads every counted row.
 */
export async function findDrift(tx: Tx): Promise<Drift[]> {
  const { rows } = await sql<{
    readonly userId: string;
    readonly tenantId: string;
    readonly counter: string;
    readonly counted: number;
    readonly actual: number;
  }>`
    select user_id as "userId", tenant_id as "tenantId", counter, counted, actual
    from (
      select user_id, tenant_id, to_jsonb(u) as counters, to_jsonb(r) as recount
      from usage u full join recount_usage() r using (user_id, tenant_id)
    ) as each_owner
    cross join lateral (
      select key as counter, coalesce((counters ->> key)::bigint, 0) as counted,
        coalesce((recount ->> key)::bigint, 0) as actual
      from jsonb_object_keys(coalesce(counters, recount)) as key
      where key not in ('user_id', 'tenant_id')
    ) as each_counter
    where counted <> actual
    order by user_id, tenant_id, counter`.execute(tx);
  return rows.map(({ userId, tenantId, counter, counted, actual }) => ({
    owner: { userId, tenantId },
    counter,
    counted,
    actual,
  }));
}

/**
 * Sets an owner's counters to what the owner's rows say. Holds the counters first, so that
 * transactions that are about to change them add to the new values.
 */
export async function repairUsage(tx: Tx, { userId, tenantId }: Owner): Promise<void> {
  await sql`
    insert into usage (user_id, tenant_id) values (${userId}, ${tenantId})
    on conflict (user_id, tenant_id) do update set user_id = excluded.user_id`.execute(tx);
  await tx
    .deleteFrom('usage')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .execute();
  await sql`
    insert into usage select * from recount_usage()
    where user_id = ${userId} and tenant_id = ${tenantId}`.execute(tx);
}
