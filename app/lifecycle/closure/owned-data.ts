import type { Owner, Tx } from '../../db/database.ts';
import { lockUnsealed, removeUnsealed } from '../../documents/remove-unsealed.ts';
import { removeExports } from '../../evidence-exports/rows/export-rows.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { removeSharing } from '../../sharing/removal.ts';
import type { Uploads } from '../../uploads/uploads.ts';
import { removeRows } from '../owned-rows.ts';

/** Number of rows of each kind that one transaction removes at most. */
export const closureBatchSize = 5_000;

interface DataRemovalOptions {
  readonly uploads: Uploads;
  readonly outbox: Outbox;
}

interface RemovedData {
  readonly counts: {
    readonly documents: number;
    readonly uploads: number;
    readonly shares: number;
    readonly sharingKeys: number;
    readonly syncObjects: number;
  };
  /** Whether more data may be left. */
  readonly isMore: boolean;
}

const nothing = { documents: 0, uploads: 0, shares: 0, sharingKeys: 0, syncObjects: 0 };

/**
 * Removes a batch of a closed user's data: evidence exports, shares, unsealed documents, uploads
 * and synchronised objects, in this order. Documents wait until no share is left: to remove one
 * locks its shares, which two users who share with each other would do in different orders.
 */
export async function removeData(
  tx: Tx,
  { uploads, outbox }: DataRemovalOptions,
  owner: Owner,
): Promise<RemovedData> {
  const limit = closureBatchSize;
  const exports = await removeExports(tx, outbox, { owner, limit });
  if (exports >= limit) return { counts: nothing, isMore: true };
  await lockUnsealed(tx, owner, limit);
  const { isMore: areMoreShares, ...shared } = await removeSharing(tx, owner, limit);
  if (areMoreShares) return { counts: { ...nothing, ...shared }, isMore: true };
  const { isMore: areMoreFiles, ...files } = await removeUnsealed(tx, uploads, owner, limit);
  const removed = { ...nothing, ...shared, ...files };
  if (areMoreFiles) return { counts: removed, isMore: true };
  const { counts, isMore } = await removeRows(tx, owner, 'data', limit);
  return { counts: { ...removed, syncObjects: counts.sync_objects ?? 0 }, isMore };
}
