import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Clock } from '../../async/clock.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import type { DeviceGuard } from '../../devices/guard.ts';
import { cutPage } from '../../http/responses/page.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { assertKnown, loadObject } from '../objects/object-rows.ts';
import type { ObjectText } from '../objects/answers.ts';
import type { ChangeList, ChangePage, HistoryList, HistoryPage } from '../objects/schema.ts';
import { listChanges } from './change-list.ts';
import { exportObject } from './export.ts';

interface History {
  readonly history: z.output<typeof HistoryList>['history'];
  /**
   * The last id on this page, to pass as the cursor for the next page; undefined if no further page
   * exists.
   */
  readonly cursor: string | undefined;
}

interface SyncReadingOptions {
  readonly db: Database;
  readonly deviceGuard: DeviceGuard;
  readonly clock: Clock;
}

export type SyncReading = ReturnType<typeof createSyncReading>;

/** Creates the service by which devices read objects. Every method throws as DeviceGuard does. */
export function createSyncReading({ db, deviceGuard, clock }: SyncReadingOptions) {
  function read<Answer>(
    { caller }: ServiceRequest,
    deviceId: string,
    work: (tx: Tx, owner: Owner) => Promise<Answer>,
  ): Promise<Answer> {
    return db.asUser(caller, async (tx) => {
      await deviceGuard.admit(tx, { caller, deviceId });
      return work(tx, caller);
    });
  }

  return {
    /** Returns the current state of an object. Throws not_found, also for a tombstone. */
    get: (request: ServiceRequest, deviceId: string, objectId: string): Promise<ObjectText> =>
      read(request, deviceId, async (tx, owner) => {
        const { version, data, last_modified_at } = await loadObject(tx, owner, objectId);
        return { objectId, version, data, lastModifiedAt: last_modified_at.toISOString() };
      }),

    /**
     * Lists objects in the order of their last changes. A client that continues from `nextCursor`
     * gets the latest state of every object that changed since that cursor, and no change twice. If
     * nothing changed, `nextCursor` equals `since`. A cursor that this history never issued is
     * treated as the start.
     */
    list: (
      request: ServiceRequest,
      deviceId: string,
      page: z.output<typeof ChangePage>,
    ): Promise<z.output<typeof ChangeList>> =>
      read(request, deviceId, (tx, owner) => listChanges(tx, owner, page)),

    /**
     * Lists the outcome of every write to an object, oldest first, even if the object was deleted.
     * `cursor` is the last id on the previous page. Throws not_found.
     */
    history: (
      request: ServiceRequest,
      deviceId: string,
      objectId: string,
      page: z.output<typeof HistoryPage>,
    ): Promise<History> =>
      read(request, deviceId, (tx, owner) => listHistory(tx, owner, objectId, page)),

    /**
     * Returns an object and its versions as a stream of RFC 8785 text, which fails if the device is
     * revoked meanwhile. Throws not_found, also for a tombstone.
     */
    export: (request: ServiceRequest, deviceId: string, objectId: string): Promise<Readable> =>
      exportObject((work) => read(request, deviceId, work), objectId, clock()),
  };
}

async function listHistory(
  tx: Tx,
  owner: Owner,
  objectId: string,
  { limit, cursor }: z.output<typeof HistoryPage>,
): Promise<History> {
  await assertKnown(tx, owner, objectId);
  let query = tx
    .selectFrom('sync_history')
    // Leaves out `changed_fields`, of which a row may have 1 MiB.
    .select(['id', 'version', 'base_version', 'status', 'conflict_type', 'rule_applied'])
    .select(['sync_request_id', 'device_id', 'recorded_at'])
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .where('object_id', '=', objectId)
    .orderBy('id')
    .limit(limit + 1);
  if (cursor !== undefined) query = query.where('id', '>', cursor);
  const page = cutPage(await query.execute(), { limit, cursorOf: ({ id }) => id });
  const history = page.rows.map((row) => ({
    id: row.id,
    version: row.version,
    baseVersion: row.base_version,
    status: row.status,
    conflictType: row.conflict_type,
    ruleApplied: row.rule_applied,
    syncRequestId: row.sync_request_id,
    deviceId: row.device_id,
    timestamp: row.recorded_at.toISOString(),
  }));
  return { history, cursor: page.cursor };
}
