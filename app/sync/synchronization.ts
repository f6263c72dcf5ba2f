import type { z } from 'zod';
import type { Clock } from '../async/clock.ts';
import { afterCommit, type Tx } from '../db/database.ts';
import type { DeviceGuard } from '../devices/guard.ts';
import { AppError } from '../errors/app-error.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { canonicalText } from '../json/canonical-text.ts';
import type { Act, Acted } from '../audit-trail/act.ts';
import { liftLimits } from '../plans/lift-limits.ts';
import { decide, type Accepted, type Refused, type ServerObject } from './merge/decision.ts';
import { leavesOf } from './merge/json-pointer.ts';
import type { JsonObject } from '../json/json-values.ts';
import { assertSize, assertStorable } from './merge/limits.ts';
import { placesOf } from './merge/merge.ts';
import type { Change, SyncRules } from './merge/rules.ts';
import { undoOf } from './merge/undo.ts';
import { findChangesSince } from './objects/changes-since.ts';
import {
  eventOf,
  expireHistory,
  insertHistory,
  timeAfter,
  toHistoryRow,
  type WriteRecord,
  type WritingDevice,
} from './objects/history.ts';
import { createdForm, writtenForm } from './objects/kept-answers.ts';
import { insertObject, lockObject, updateObject } from './objects/object-rows.ts';
import { writeOnce, type SyncRequest } from './objects/requests.ts';
import {
  readData,
  type CreateObject,
  type ObjectView,
  type WriteAnswer,
  type WriteObject,
} from './objects/schema.ts';

type CreateInput = z.output<typeof CreateObject>;
type Created = z.output<typeof ObjectView>;
type Written = z.output<typeof WriteAnswer>;
type WriteInput = z.output<typeof WriteObject>;
/** A write whose `changedAt` is set, although clients may leave it out. */
type Write = WriteInput & Pick<Change, 'changedAt'>;
type TimedWrite = Write & Pick<WriteRecord, 'recordedAt'>;

interface SynchronizationOptions {
  readonly act: Act;
  readonly deviceGuard: DeviceGuard;
  readonly clock: Clock;
  readonly rules: SyncRules;
  /** Called after a change of this user was committed. Must not throw. */
  readonly onChanged: (userId: string) => void;
}

/** Milliseconds by which the clock of a device may be ahead of this process's clock. */
const aheadMs = 5 * 60_000;

export type Synchronization = ReturnType<typeof createSynchronization>;

/**
 * Creates the service by which devices write objects. One transaction contains a write, the check
 * of its device, its history, its audit entry and its stored response. `create` and `write` also
 * throw as DeviceGuard does.
 */
export function createSynchronization(options: SynchronizationOptions) {
  const { act, deviceGuard, clock, rules, onChanged } = options;

  function perform<Answer>(
    request: ServiceRequest,
    { deviceId, syncRequestId }: WritingDevice,
    kept: Omit<SyncRequest<Answer>, 'id'>,
    write: (tx: Tx) => Promise<Acted<Answer>>,
  ): Promise<Answer> {
    const { caller } = request;
    const writeHeld = async (tx: Tx) => {
      await deviceGuard.hold(tx, { caller, deviceId });
      return syncRequestId === undefined
        ? write(tx)
        : writeOnce(tx, caller, { ...kept, id: syncRequestId }, () => write(tx));
    };
    return act(request, writeHeld);
  }

  async function apply(
    tx: Tx,
    { caller }: ServiceRequest,
    device: WritingDevice,
    { objectId, baseVersion, changedAt, recordedAt }: TimedWrite,
    object: ServerObject,
    { data, changed, ruleApplied }: Accepted,
  ): Promise<Acted<Written>> {
    const version = object.version + 1;
    const text = data === null ? null : toText(data);
    const record: WriteRecord = {
      action: data === null ? 'sync.deleted' : 'sync.changed',
      objectId,
      version,
      baseVersion,
      conflictType: null,
      ruleApplied,
      changedAt,
      changed,
      undo: undoOf(object.data, data),
      recordedAt,
    };
    const row = { object_id: objectId, version, data: text, last_modified_at: recordedAt };
    await updateObject(tx, caller, row, toHistoryRow(caller, device, record));
    await expireHistory(tx, caller, { objectId, version, isDeleted: data === null });
    if (data === null) await liftLimits(tx);
    afterCommit(tx, () => onChanged(caller.userId));
    const lastModifiedAt = recordedAt.toISOString();
    return {
      answer: { status: 'APPLIED', objectId, version, data, ruleApplied, lastModifiedAt },
      events: [eventOf(device, record)],
    };
  }

  async function create(
    tx: Tx,
    { caller }: ServiceRequest,
    device: WritingDevice,
    { objectId, data, objectType }: CreateInput,
    text: string,
  ): Promise<Acted<Created>> {
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
      undo: undefined,
      recordedAt: now,
    };
    const object = {
      object_id: objectId,
      object_type: objectType ?? null,
      data: text,
      last_modified_at: now,
    };
    await insertObject(tx, caller, object, toHistoryRow(caller, device, record));
    afterCommit(tx, () => onChanged(caller.userId));
    return {
      answer: { objectId, version: 1, data, lastModifiedAt: now.toISOString() },
      events: [eventOf(device, record)],
    };
  }

  async function merge(
    tx: Tx,
    request: ServiceRequest,
    device: WritingDevice,
    write: Write,
  ): Promise<Acted<Written>> {
    const { caller } = request;
    const { objectId, changedAt, delta = null } = write;
    const baseVersion = write.baseVersion ?? 0;
    const row = await lockObject(tx, caller, objectId);
    const object = { version: row.version, data: row.data === null ? null : readData(row.data) };
    const places =
      object.data !== null && baseVersion < object.version ? placesOf(object.data, delta) : [];
    const by = { changedAt, deviceId: device.deviceId };
    const known = { objectId, version: row.version, objectType: row.object_type };
    const since = await findChangesSince(tx, caller, rules, known, { baseVersion, places, by });
    const decision = decide(object, { baseVersion, delta }, since);
    const modified = { objectId, lastModifiedAt: row.last_modified_at };
    const timed = { ...write, recordedAt: await timeAfter(tx, caller, modified, clock()) };
    return 'conflictType' in decision
      ? refuse(tx, request, device, timed, object, decision)
      : apply(tx, request, device, timed, object, decision);
  }

  return {
    /**
     * Creates an object under an id that the client chose. Throws object_exists if the id belongs
     * to an object or a tombstone, and as assertStorable and assertSize do.
     */
    async create(
      request: ServiceRequest,
      device: WritingDevice,
      input: CreateInput,
    ): Promise<Created> {
      const text = toText(input.data);
      const kept = { asked: ['create', input], form: createdForm };
      return perform(request, device, kept, (tx) => create(tx, request, device, input, text));
    },

    /**
     * Merges a write with the changes that were written since its base version. A write that cannot
     * be merged is stored in the history, changes nothing, and resolves with the conflict. Throws
     * not_found, validation_failed if `changedAt` is too far ahead, and as assertStorable and
     * assertSize do.
     */
    async write(
      request: ServiceRequest,
      device: WritingDevice,
      input: WriteInput,
    ): Promise<Written> {
      const changedAt = input.changedAt ?? clock();
      if (changedAt.getTime() > clock().getTime() + aheadMs) throw tooFarAhead();
      if (input.delta !== undefined) assertStorable(input.delta);
      const kept = { asked: ['write', input], form: writtenForm };
      const write = { ...input, changedAt };
      return perform(request, device, kept, (tx) => merge(tx, request, device, write));
    },
  };
}

async function refuse(
  tx: Tx,
  { caller }: ServiceRequest,
  device: WritingDevice,
  { objectId, version, baseVersion, changedAt, recordedAt }: TimedWrite,
  object: ServerObject,
  { conflictType, fields }: Refused,
): Promise<Acted<Written>> {
  const record: WriteRecord = {
    action: 'sync.conflicted',
    objectId,
    version,
    baseVersion,
    conflictType,
    ruleApplied: null,
    changedAt,
    changed: [],
    undo: undefined,
    recordedAt,
  };
  await insertHistory(tx, toHistoryRow(caller, device, record));
  return {
    answer: {
      status: 'CONFLICT',
      objectId,
      conflictType,
      serverVersion: object.version,
      clientVersion: version,
      fields: [...fields],
      serverData: object.data,
    },
    events: [eventOf(device, record)],
  };
}

/** Returns the canonical text of an object. Throws as assertStorable and assertSize do. */
function toText(data: JsonObject): string {
  assertStorable(data);
  const text = canonicalText(data);
  assertSize(text);
  return text;
}

function tooFarAhead(): AppError {
  const details = [{ path: 'changedAt', message: 'must be at most 5 minutes ahead' }];
  return new AppError('validation_failed', { details });
}
