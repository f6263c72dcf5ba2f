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
