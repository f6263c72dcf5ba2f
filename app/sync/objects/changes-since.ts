import type { Owner, Tx } from '../../db/database.ts';
import type { Since } from '../merge/merge.ts';
import { ruleOf, type Change, type SyncRules } from '../merge/rules.ts';
import { findTouched, keptVersions } from './history.ts';

/** The present version of an object whose row is locked. */
interface LockedObject {
  readonly objectId: string;
  readonly version: number;
  readonly objectType: string | null;
}

interface BasedWrite {
  readonly baseVersion: number;
  /** JSON Pointers of the places that the write changes. */
  readonly places: readonly string[];
  readonly by: Change;
}

/**
 * Finds the changes of a locked object since the base of a write. If the history no longer has all
 * of them, every place of the write counts as changed, and no rule settles it.
 */
export async function findChangesSince(
  tx: Tx,
  owner: Owner,
  rules: SyncRules,
  object: LockedObject,
  { baseVersion, places, by }: BasedWrite,
): Promise<Since> {
  const { objectId, objectType } = object;
  const touched = await findTouched(tx, owner, objectId, { baseVersion, places });
  // Maintenance may remove versions meanwhile: what is still there now was read.
  if (await isKeptSince(tx, owner, object, baseVersion)) {
    return { touched, by, ruleOf: (pointer) => ruleOf(rules, objectType, pointer) };
  }
  return { touched: new Map(places.map((place) => [place, by])), by, ruleOf: () => undefined };
}

/** Returns whether the history of a locked object still has everything after `baseVersion`. */
async function isKeptSince(
  tx: Tx,
  { userId, tenantId }: Owner,
  { objectId, version }: LockedObject,
  baseVersion: number,
): Promise<boolean> {
  if (baseVersion + keptVersions >= version) return true;
  // Maintenance removes versions in their order.
  const next = await tx
    .selectFrom('sync_history')
    .select('version')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('object_id', '=', objectId)
    .where('status', '=', 'APPLIED')
    .where('version', '=', baseVersion + 1)
    .executeTakeFirst();
  return next !== undefined;
}
