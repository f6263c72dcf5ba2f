import type { z } from 'zod';
import type { Clock } from '../async/clock.ts';
import type { HeavyWork, Steps } from '../async/heavy-work.ts';
import type { Tx } from '../db/database.ts';
import { inTurn } from '../db/pipeline.ts';
import { afterCommit } from '../db/transaction.ts';
import type { DeviceGuard } from '../devices/guard.ts';
import { AppError } from '../errors/app-error.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { Act, Acted } from '../audit-trail/act.ts';
import { liftLimits } from '../plans/lift-limits.ts';
import { decide, type Accepted, type Refused, type ServerObject } from './merge/decision.ts';
import { resolvePatch } from './merge/edits.ts';
import { leavesOf } from './merge/json-pointer.ts';
import { assertStorable, toStoredText } from './merge/limits.ts';
import { placesOf } from './merge/merge.ts';
import type { Change, SyncRules } from './merge/rules.ts';
import { stepsOf } from './merge/steps.ts';
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
import type { ObjectText, Written } from './objects/answers.ts';
import { createdForm, createWrittenForm, type KeptForm } from './objects/kept-answers.ts';
import { insertObject, lockObject, updateObject, type ObjectRow } from './objects/object-rows.ts';
import { digestOf, writeOnce } from './objects/requests.ts';
import { readData, type CreateObject, type WriteObject } from './objects/schema.ts';
import { loadVersion } from './objects/versions.ts';

type CreateInput = z.output<typeof CreateObject>;
type WriteInput = z.output<typeof WriteObject>;
/** A write whose `changedAt` is set, although clients may leave it out. */
type Write = WriteInput & Pick<Change, 'changedAt'>;
type TimedWrite = Write & Pick<WriteRecord, 'recordedAt'> & { readonly steps: Steps };
type CreatedText = Omit<CreateInput, 'data'> & {
  readonly text: string;
  /** JSON Pointers of the leaves. */
  readonly leaves: readonly string[];
};

/** A request, whose content identifies a replay, with the form in which its answer is kept. */
interface Asked<Answer> {
  readonly asked: unknown;
  readonly form: KeptForm<Answer>;
  readonly steps: Steps;
}

interface SynchronizationOptions {
  readonly act: Act;
  readonly deviceGuard: DeviceGuard;
  readonly clock: Clock;
  readonly rules: SyncRules;
  /** The queue of the work on large objects. */
  readonly heavyWork: HeavyWork;
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
  const { act, deviceGuard, clock, rules, heavyWork, onChanged } = options;
  const writtenForm = createWrittenForm(heavyWork);

  async function perform<Answer>(
    request: ServiceRequest,
    { deviceId, syncRequestId }: WritingDevice,
    { asked, form, steps }: Asked<Answer>,
    write: (tx: Tx, admitted: Promise<void>) => Promise<Acted<Answer>>,
  ): Promise<Answer> {
    const { caller } = request;
    const digest = syncRequestId === undefined ? undefined : await steps(() => digestOf(asked));
    return act(request, async (tx) => {
      const admitted = deviceGuard.hold(tx, { caller, deviceId });
      if (syncRequestId === undefined || digest === undefined) return write(tx, admitted);
      await admitted;
      return writeOnce(tx, caller, {
        id: syncRequestId,
        digest,
        form,
        load: (objectId, version) => loadVersion(tx, heavyWork, caller, { objectId, version }),
        write: () => write(tx, admitted),
      });
    });
  }

  async function apply(
    tx: Tx,
    { caller }: ServiceRequest,
    device: WritingDevice,
    { objectId, baseVersion, changedAt, recordedAt, steps }: TimedWrite,
    object: ServerObject,
    { data, changed, ruleApplied }: Accepted,
  ): Promise<Acted<Written>> {
    const version = object.version + 1;
    const text = data === null ? null : await toStoredText(steps, data);
    const record: WriteRecord = {
      action: data === null ? 'sync.deleted' : 'sync.changed',
      objectId,
      version,
      baseVersion,
      conflictType: null,
      ruleApplied,
      changedAt,
      changed,
      undo: await steps(() => undoOf(object.data, data)),
      recordedAt,
    };
    const row = { data: text, last_modified_at: recordedAt };
    updateObject(tx, row, toHistoryRow(caller, device, record));
    expireHistory(tx, caller, { objectId, version, isDeleted: data === null });
    if (data === null) await liftLimits(tx);
    afterCommit(tx, () => onChanged(caller.userId));
    const lastModifiedAt = recordedAt.toISOString();
    return {
      answer: { status: 'APPLIED', objectId, version, data: text, ruleApplied, lastModifiedAt },
      events: [eventOf(device, record)],
    };
  }

  async function create(
    tx: Tx,
    { caller }: ServiceRequest,
    device: WritingDevice,
    { objectId, objectType, text, leaves }: CreatedText,
    admitted: Promise<void>,
  ): Promise<Acted<ObjectText>> {
    await admitted;
    const now = clock();
    const record: WriteRecord = {
      action: 'sync.created',
      objectId,
      version: 1,
      baseVersion: null,
      conflictType: null,
      ruleApplied: null,
      changedAt: now,
      changed: leaves,
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
      answer: { objectId, version: 1, data: text, lastModifiedAt: now.toISOString() },
      events: [eventOf(device, record)],
    };
  }

  async function merge(
    tx: Tx,
    request: ServiceRequest,
    device: WritingDevice,
    write: Write,
    admitted: Promise<void>,
  ): Promise<Acted<Written>> {
    const { caller } = request;
    const { objectId, changedAt, delta = null } = write;
    const baseVersion = write.baseVersion ?? 0;
    const [, row] = await inTurn(admitted, lockObject(tx, caller, objectId));
    const { data: text, version } = row;
    const steps = stepsOf(heavyWork, { change: delta, text });
    const data = text === null ? null : await steps(() => readData(text));
    const object = { version, data };
    const patch =
      data === null || delta === null ? null : await steps(() => resolvePatch(data, delta));
    const places =
      data !== null && baseVersion < version ? await steps(() => placesOf(data, patch)) : [];
    const by = { changedAt, deviceId: device.deviceId };
    const known = { objectId, version, objectType: row.object_type };
    const since = await findChangesSince(tx, caller, rules, known, { baseVersion, places, by });
    const decision = await steps(() => decide(object, { baseVersion, patch }, since));
    const modified = { objectId, lastModifiedAt: row.last_modified_at };
    const recordedAt = await timeAfter(tx, caller, modified, clock());
    const timed = { ...write, recordedAt, steps };
    return 'conflictType' in decision
      ? refuse(tx, request, device, timed, row, decision)
      : apply(tx, request, device, timed, object, decision);
  }

  return {
    /**
     * Creates an object under an id that the client chose. Throws object_exists if the id belongs
     * to an object or a tombstone, and as toStoredText does.
     */
    async create(
      request: ServiceRequest,
      device: WritingDevice,
      input: CreateInput,
    ): Promise<ObjectText> {
      const { data } = input;
      const steps = stepsOf(heavyWork, { change: data, text: null });
      const text = await toStoredText(steps, data);
      const leaves = await steps(() => leavesOf(data));
      const asked = { asked: ['create', { ...input, data: text }], form: createdForm, steps };
      return perform(request, device, asked, (tx, admitted) =>
        create(tx, request, device, { ...input, text, leaves }, admitted),
      );
    },

    /**
     * Merges a write with the changes that were written since its base version. A write that cannot
     * be merged is stored in the history, changes nothing, and resolves with the conflict. Throws
     * not_found, validation_failed if `changedAt` is too far ahead, and as toStoredText
     * does.
     */
    async write(
      request: ServiceRequest,
      device: WritingDevice,
      input: WriteInput,
    ): Promise<Written> {
      const changedAt = input.changedAt ?? clock();
      if (changedAt.getTime() > clock().getTime() + aheadMs) throw tooFarAhead();
      const { delta } = input;
      const steps = stepsOf(heavyWork, { change: delta ?? null, text: null });
      if (delta !== undefined) await steps(() => assertStorable(delta));
      const asked = { asked: ['write', input], form: writtenForm, steps };
      const write = { ...input, changedAt };
      return perform(request, device, asked, (tx, admitted) =>
        merge(tx, request, device, write, admitted),
      );
    },
  };
}

async function refuse(
  tx: Tx,
  { caller }: ServiceRequest,
  device: WritingDevice,
  { objectId, version, baseVersion, changedAt, recordedAt }: TimedWrite,
  object: ObjectRow,
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

function tooFarAhead(): AppError {
  const details = [{ path: 'changedAt', message: 'must be at most 5 minutes ahead' }];
  return new AppError('validation_failed', { details });
}
