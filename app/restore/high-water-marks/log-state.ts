import { sql } from 'kysely';
import { NIL } from 'uuid';
import { isOfMonths, readMonthsAway } from '../../audit-trail/archived-months.ts';
import type { Tx } from '../../db/database.ts';
import type { LogState } from './mark.ts';

/** Returns the number of entries that were ever sealed. */
export async function countSealed(tx: Tx): Promise<number> {
  const { sealed } = await tx
    .selectFrom('audit_totals')
    .select(({ fn }) => fn.sum<string | null>('sealed').as('sealed'))
    .executeTakeFirstOrThrow();
  return Number(sealed ?? 0);
}

/** Returns whether the log has a seal of this entry, or had it in a month that is away. */
export async function isSealed(tx: Tx, entryId: string): Promise<boolean> {
  const seal = await tx
    .selectFrom('audit_seals')
    .select('entry_id')
    .where('entry_id', '=', entryId)
    .executeTakeFirst();
  return seal !== undefined || isOfMonths(await readMonthsAway(tx), entryId);
}

/** Lists the ids of all registered keys. */
export async function listKeyIds(tx: Tx): Promise<string[]> {
  const keys = await tx
    .selectFrom('signing_keys')
    .select('key_id')
    .orderBy('registered_at')
    .orderBy('key_id')
    .execute();
  return keys.map((key) => key.key_id);
}

/** Reads the state of the log that a high-water mark records. */
export async function readLogState(tx: Tx): Promise<LogState> {
  const newest = await tx
    .selectFrom('audit_seals')
    .select('entry_id')
    .orderBy('entry_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return {
    sealed: await countSealed(tx),
    newestEntryId: newest?.entry_id ?? null,
    keyIds: await listKeyIds(tx),
  };
}

/**
 * Returns for how many seconds the first entry after `entryId` that has a seal has had it, or the
 * first entry of all after null; undefined if there is none.
 */
export async function readSealAgeAfter(
  tx: Tx,
  entryId: string | null,
): Promise<number | undefined> {
  const seal = await tx
    .selectFrom('audit_seals')
    .select(sql<number>`extract(epoch from clock_timestamp() - sealed_at)::float8`.as('seconds'))
    .where('entry_id', '>', entryId ?? NIL)
    .orderBy('entry_id')
    .limit(1)
    .executeTakeFirst();
  return seal === undefined ? undefined : Math.max(0, seal.seconds);
}
