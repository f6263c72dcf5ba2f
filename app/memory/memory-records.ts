import type { z } from 'zod';
import type { Act, Acted } from '../audit-trail/act.ts';
import { lockName } from '../db/advisory-lock.ts';
import type { Database, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { DeviceGuard } from '../devices/guard.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { cutPage } from '../http/responses/page.ts';
import type { FreshProof } from '../sessions/fresh-proof.ts';
import { isDeviceOf } from '../sessions/active-device.ts';
import type { AddMemoryRecord, MemoryPage, MemoryRecordView } from './schema.ts';

/** Maximum number of records that a user may have. */
export const maxRecords = 4_000;
/** Number of records that are read for a page, which ends at 1 MiB in any case. */
const readAtOnce = 32;

type Addition = z.output<typeof AddMemoryRecord>;
interface Added {
  readonly position: number;
}

interface MemoryRecordsOptions {
  readonly db: Database;
  readonly act: Act;
  readonly deviceGuard: DeviceGuard;
}

export type MemoryRecords = ReturnType<typeof createMemoryRecords>;

/**
 * Creates the service for records with which the clients of a user tell each other of the vault's
 * state. The clients encrypt and sign them, and number those of each writer.
 */
export function createMemoryRecords({ db, act, deviceGuard }: MemoryRecordsOptions) {
  return {
    /**
     * Lists the caller's records in the order in which they were stored. The returned `cursor` is
     * undefined if no further page exists.
     */
    list: ({ caller }: ServiceRequest, { limit, cursor = 0 }: z.output<typeof MemoryPage>) =>
      db.asUser(caller, async (tx) => {
        const atOnce = Math.min(limit, readAtOnce);
        const rows: z.input<typeof MemoryRecordView>[] = await selectRecords(tx, caller)
          .select(['position', 'writer', 'number', 'record'])
          .where('position', '>', cursor)
          .orderBy('position')
          .limit(atOnce + 1)
          .execute();
        const page = cutPage(rows, {
          limit: atOnce,
          cursorOf: ({ position }) => position,
          bytesOf: ({ record }) => record.length,
        });
        return { records: page.rows, cursor: page.cursor };
      }),

    /**
     * Stores a record. A repeated call with the same record changes nothing. Throws
     * memory_conflict unless the number is above the writer's last one, device_required if the
     * writer is a device and `deviceId` is missing, validation_failed if it discards records of
     * something else than this device, what `DeviceGuard.hold` throws unless the
     * session is bound to it, and quota_exceeded.
     */
    add: (request: ServiceRequest, deviceId: string | undefined, addition: Addition) =>
      act(request, async (tx) => {
        const { caller } = request;
        if (addition.discardBefore !== undefined && deviceId !== addition.writer) throw notOwn();
        await admit(tx, caller, { deviceId, writer: addition.writer });
        takesLock(tx, 'memory');
        await lockName(tx, `memory:${caller.userId}`);
        return insert(tx, caller, addition);
      }),

    /**
     * Removes all records of a writer. Throws not_found, and as `FreshProof.assertGiven` does: with
     * a stolen access token, somebody could otherwise make the user's devices distrust the vault.
     */
    remove: (request: ServiceRequest, writer: string, proof: FreshProof) =>
      act(request, async (tx): Promise<Acted<void>> => {
        const { userId, tenantId } = request.caller;
        const found = await selectRecords(tx, request.caller)
          .select('position')
          .where('writer', '=', writer)
          .limit(1)
          .executeTakeFirst();
        if (found === undefined) throw new AppError('not_found');
        await proof.assertGiven(tx);
        const { numDeletedRows } = await tx
          .deleteFrom('memory_records')
          .where('user_id', '=', userId)
          .where('tenant_id', '=', tenantId)
          .where('writer', '=', writer)
          .executeTakeFirst();
        const resource = { type: 'memory', id: writer } as const;
        const data = { records: Number(numDeletedRows) };
        return { answer: undefined, events: [{ action: 'memory.removed', resource, data }] };
      }),
  };

  /** Lets a device write in its own name only, so that a revoked one has not written in another. */
  async function admit(
    tx: Tx,
    caller: Caller,
    { deviceId, writer }: { readonly deviceId: string | undefined; readonly writer: string },
  ): Promise<void> {
    if (deviceId !== undefined) {
      await deviceGuard.hold(tx, { caller, deviceId });
      if (deviceId === writer) return;
    }
    if (await isDeviceOf(tx, caller, writer)) {
      throw new AppError(deviceId === undefined ? 'device_required' : 'device_unknown');
    }
  }
}

function selectRecords(tx: Tx, { userId, tenantId }: Caller) {
  return tx
    .selectFrom('memory_records')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId);
}

async function insert(
  tx: Tx,
  caller: Caller,
  { writer, number, record, discardBefore = 1 }: Addition,
): Promise<Acted<Added>> {
  const last = await selectRecords(tx, caller)
    .select(['number', 'position', 'record'])
    .where('writer', '=', writer)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (last?.number === number && last.record === record) {
    return { answer: { position: last.position }, events: [] };
  }
  if (number <= (last?.number ?? 0)) throw new AppError('memory_conflict');
  await tx
    .deleteFrom('memory_records')
    .where('user_id', '=', caller.userId)
    .where('tenant_id', '=', caller.tenantId)
    .where('writer', '=', writer)
    .where('number', '<', Math.min(discardBefore, number))
    .execute();
  await assertRoom(tx, caller);
  const { position } = await tx
    .insertInto('memory_records')
    .values({ user_id: caller.userId, tenant_id: caller.tenantId, writer, number, record })
    .returning('position')
    .executeTakeFirstOrThrow();
  const resource = { type: 'memory', id: writer } as const;
  return {
    answer: { position },
    events: [{ action: 'memory.recorded', resource, data: { number } }],
  };
}

async function assertRoom(tx: Tx, caller: Caller): Promise<void> {
  const { count } = await selectRecords(tx, caller)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  if (count < maxRecords) return;
  const message = `at most ${maxRecords} records can be kept; remove those of a writer first`;
  throw new AppError('quota_exceeded', {
    details: [{ path: 'memoryRecords', message }],
    retryAfterSeconds: 3600,
  });
}

function notOwn(): AppError {
  const details = [{ path: 'discardBefore', message: 'only a device discards its own records' }];
  return new AppError('validation_failed', { details });
}
