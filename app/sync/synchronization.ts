import type { z } from 'zod';
import type { AuditTrail } from '../trail/trail.ts';
import { canonicalText } from '../json/canonical-text.ts';
import type { Clock } from '../async/clock.ts';
import { afterCommit, type Database, type Tx } from '../db/database.ts';
import type { DeviceGuard } from '../devices/guard.ts';
import { AppError } from '../errors/app-error.ts';
import { decide, type Accepted, type Refused, type ServerObject } from './merge/decision.ts';
import {
  appendEntry,
  findTouched,
  insertHistory,
  timeAfter,
  toHistoryRow,
  type Author,
  type WriteRecord,
} from './objects/history.ts';
import type { JsonObject } from './merge/json.ts';
import { leavesOf } from './merge/json-pointer.ts';
import { assertSize, assertStorable } from './merge/limits.ts';
import { placesOf } from './merge/merge.ts';
import { insertObject, lockObject, updateObject } from './objects/object-rows.ts';
import { actOnce, type SyncRequest } from './objects/requests.ts';
import { ruleOf, type Change, type SyncRules } from './merge/rules.ts';
import {
  ObjectView,
  readData,
  WriteAnswer,
  type CreateObject,
  type WriteObject,
} from './objects/schema.ts';
import { createKeyedTurns } from '../async/turns.ts';

type CreateInput = z.output<typeof CreateObject>;
type Created = z.output<typeof ObjectView>;
type Written = z.output<typeof WriteAnswer>;
type WriteInput = z.output<typeof WriteObject>;
/** A write with what the client may leave out. */
type Write = WriteInput & Pick<Change, 'changedAt'>;
type TimedWrite = Write & Pick<WriteRecord, 'recordedAt'>;

/**
 * Each write is one transaction with the check of its device, its history, its audit entry and its
 * answer. Both throw as DeviceGuard does.
 */
export interface Synchronization {
  /** Throws object_exists, where a tombstone is too, and the codes of the limits. */
  create(author: Author, input: CreateInput): Promise<Created>;
  /**
   * Merges a write with what others wrote since the version that it is based on. One that cannot be
   * merged is kept in the history and changes nothing. Throws not_found, and the codes of the limits.
   */
  write(author: Author, input: WriteInput): Promise<Written>;
}

interface SynchronizationOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly deviceGuard: DeviceGuard;
  readonly clock: Clock;
  readonly rules: SyncRules;
  /** A change of this user has been committed. Must not throw. */
  readonly onChanged: (userId: string) => void;
}

/** How far the clock of a device may be ahead. */
const aheadMs = 5 * 60_000;
/** Of a user in this process. They wait for each other in Postgres, each on a connection of the pool. */
const writesAtOnce = 4;

export function createSynchronization(options: SynchronizationOptions): Synchronization {
  const { db, audit, deviceGuard, clock, rules, onChanged } = options;
  const turns = createKeyedTurns(writesAtOnce);

  function act<Answer>(
    author: Author,
    request: Omit<SyncRequest<Answer>, 'id'>,
    work: (tx: Tx) => Promise<Answer>,
  ): Promise<Answer> {
    const { caller, syncRequestId } = author;
    audit.assertWritable();
    const writeNow = () =>
      db.asUser(caller, async (tx) => {
        await deviceGuard.hold(tx, author);
        return syncRequestId === undefined
          ? work(tx)
          : actOnce(tx, caller, { ...request, id: syncRequestId }, () => work(tx));
      });
    return turns.take(`${caller.userId} ${caller.tenantId}`, writeNow);
  }

  async function apply(
    tx: Tx,
    author: Author,
    { objectId, version, baseVersion, changedAt, recordedAt }: TimedWrite,
    { data, changed, ruleApplied }: Accepted,
  ): Promise<Written> {
    const text = data && toText(data);
    const record: WriteRecord = {
      action: data === null ? 'sync.deleted' : 'sync.changed',
      objectId,
      version,
      baseVersion,
      conflictType: null,
      ruleApplied,
      changedAt,
      changed,
      recordedAt,
    };
    const object = { object_id: objectId, version, data: text, last_modified_at: recordedAt };
    await updateObject(tx, author.caller, object, toHistoryRow(author, record));
    await appendEntry(tx, audit, author, record);
    afterCommit(tx, () => onChanged(author.caller.userId));
    const lastModifiedAt = recordedAt.toISOString();
    return { status: 'APPLIED', objectId, version, data, ruleApplied, lastModifiedAt };
  }

  async function refuse(
    tx: Tx,
    author: Author,
    { objectId, version, baseVersion, changedAt, recordedAt }: TimedWrite,
    object: ServerObject,
    { conflictType, fields }: Refused,
  ): Promise<Written> {
    const record: WriteRecord = {
      action: 'sync.conflicted',
      objectId,
      version,
      baseVersion,
      conflictType,
      ruleApplied: null,
      changedAt,
      changed: [],
      recordedAt,
    };
    await insertHistory(tx, toHistoryRow(author, record));
    await appendEntry(tx, audit, author, record);
    return {
      status: 'CONFLICT',
      objectId,
      conflictType,
      serverVersion: object.version,
      clientVersion: version,
      fields: [...fields],
      serverData: object.data,
    };
  }

  async function create(
    tx: Tx,
    author: Author,
    { objectId, data, objectType }: CreateInput,
    text: string,
  ): Promise<Created> {
    const now = clock();
    const record: WriteRecord = {
      action: 'sync.created',
      objectId,
      version: 1,
      baseVersion: null,
      conflictType: null,
      ruleApplied: null,
      changedAt: now,
      changed: [...leavesOf(data)],
      recordedAt: now,
    };
    const object = {
      object_id: objectId,
      object_type: objectType ?? null,
      data: text,
      last_modified_at: now,
    };
    await insertObject(tx, author.caller, object, toHistoryRow(author, record));
    await appendEntry(tx, audit, author, record);
    afterCommit(tx, () => onChanged(author.caller.userId));
    return { objectId, version: 1, data, lastModifiedAt: now.toISOString() };
  }

  async function write(tx: Tx, author: Author, write: Write): Promise<Written> {
    const { caller, deviceId } = author;
    const { objectId, changedAt, delta = null } = write;
    const baseVersion = write.baseVersion ?? 0;
    const row = await lockObject(tx, caller, objectId);
    const object = { version: row.version, data: row.data === null ? null : readData(row.data) };
    const places =
      object.data !== null && baseVersion < object.version ? placesOf(object.data, delta) : [];
    const decision = decide(
      object,
      { baseVersion, delta },
      {
        touched: await findTouched(tx, caller, objectId, { baseVersion, places }),
        by: { changedAt, deviceId },
        ruleOf: (pointer) => ruleOf(rules, row.object_type, pointer),
      },
    );
    const known = { objectId, lastModifiedAt: row.last_modified_at };
    const recordedAt = await timeAfter(tx, caller, known, clock());
    return 'conflictType' in decision
      ? refuse(tx, author, { ...write, recordedAt }, object, decision)
      : apply(tx, author, { ...write, recordedAt, version: object.version + 1 }, decision);
  }

  return {
    async create(author, input) {
      const text = toText(input.data);
      const request = { asked: ['create', input], answer: ObjectView };
      return act(author, request, (tx) => create(tx, author, input, text));
    },

    async write(author, input) {
      const changedAt = input.changedAt ?? clock();
      if (changedAt.getTime() > clock().getTime() + aheadMs) throw tooFarAhead();
      if (input.delta !== undefined) assertStorable(input.delta);
      const request = { asked: ['write', input], answer: WriteAnswer };
      return act(author, request, (tx) => write(tx, author, { ...input, changedAt }));
    },
  };
}

/** Throws as assertStorable and assertSize do. */
function toText(data: JsonObject): string {
  assertStorable(data);
  const text = canonicalText(data);
  assertSize(text);
  return text;
}

function tooFarAhead(): AppError {
  const details = [{ path: 'changedAt', message: 'is more than 5 minutes ahead' }];
  return new AppError('validation_failed', { details });
}
