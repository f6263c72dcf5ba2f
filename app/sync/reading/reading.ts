import type { z } from 'zod';
import type { Clock } from '../../async/clock.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import type { DeviceCaller, DeviceGuard } from '../../devices/guard.ts';
import { listChanges } from './change-list.ts';
import { exportObject } from './export.ts';
import { assertKnown, loadObject } from '../objects/object-rows.ts';
import {
  readData,
  type ChangeList,
  type ChangePage,
  type HistoryList,
  type HistoryPage,
  type ObjectView,
} from '../objects/schema.ts';

type Page = z.output<typeof ChangePage>;

/** Each throws as DeviceGuard does. */
export interface SyncReading {
  /** Throws not_found, for a tombstone too. */
  get(reader: DeviceCaller, objectId: string): Promise<z.output<typeof ObjectView>>;
  /**
   * In the order of their last changes. Who reads on from `nextCursor` sees the latest state of every
   * object that changed since, and no change twice. Where nothing did, `nextCursor` is `since` again.
   * A cursor that this history never gave out is answered as the start is.
   */
  list(reader: DeviceCaller, page: Page): Promise<z.output<typeof ChangeList>>;
  /**
   * What became of every write, in order, also of a deleted object; `cursor` is the last id of the
   * page before, and undefined after the last page. Throws not_found.
   */
  history(
    reader: DeviceCaller,
    objectId: string,
    page: z.output<typeof HistoryPage>,
  ): Promise<{ history: z.output<typeof HistoryList>['history']; cursor: string | undefined }>;
  /** RFC 8785 text. Throws not_found, for a tombstone too. */
  export(reader: DeviceCaller, objectId: string): Promise<string>;
}

interface SyncReadingOptions {
  readonly db: Database;
  readonly deviceGuard: DeviceGuard;
  readonly clock: Clock;
}

export function createSyncReading(options: SyncReadingOptions): SyncReading {
  const { db, deviceGuard, clock } = options;

  function read<Answer>(
    reader: DeviceCaller,
    work: (tx: Tx, owner: Owner) => Promise<Answer>,
  ): Promise<Answer> {
    return db.asUser(reader.caller, async (tx) => {
      await deviceGuard.admit(tx, reader);
      return work(tx, reader.caller);
    });
  }

  return {
    get: (reader, objectId) =>
      read(reader, async (tx, owner) => {
        const { version, data, last_modified_at } = await loadObject(tx, owner, objectId);
        const lastModifiedAt = last_modified_at.toISOString();
        return { objectId, version, data: readData(data), lastModifiedAt };
      }),

    list: (reader, page) => read(reader, (tx, owner) => listChanges(tx, owner, page)),

    history: (reader, objectId, { limit, cursor }) =>
      read(reader, async (tx, owner) => {
        await assertKnown(tx, owner, objectId);
        let query = tx
          .selectFrom('sync_history')
          .selectAll()
          .where('user_id', '=', owner.userId)
          .where('tenant_id', '=', owner.tenantId)
          .where('object_id', '=', objectId)
          .orderBy('id')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('id', '>', cursor);
        const rows = await query.execute();
        const history = rows.slice(0, limit).map((row) => ({
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
        return { history, cursor: rows.length > limit ? history.at(-1)?.id : undefined };
      }),

    export: (reader, objectId) =>
      read(reader, (tx, owner) => exportObject(tx, owner, objectId, clock())),
  };
}
