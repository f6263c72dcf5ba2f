import { z } from 'zod';
import { applyPatch } from '../objects/merge-patch.ts';
import type { SealedObject } from '../objects/object-encryption.ts';
import { SealedStatements, SentStatement } from '../objects/sealed-statements.ts';

const Sealed = z.record(z.string(), z.unknown());
const Version = z.int().nonnegative();

const Write = z.object({
  /** Time of the change by this device's clock, in ms since 1970. */
  changedAt: z.number(),
  /**
   * The request that carries the write. Once it is set, the write is sent unchanged with this id
   * until the vault responds. All writes but removals have a statement of this device, encrypted.
   */
  request: z
    .object({ id: z.uuid(), changedAt: z.number(), statement: SentStatement.optional() })
    .optional(),
  /**
   * Reason why the vault refused the write. A refused write is not sent again until it is changed
   * or retried.
   */
  refusal: z.object({ code: z.string(), message: z.string() }).optional(),
});

const Creation = Write.extend({
  kind: z.literal('create'),
  data: Sealed,
  objectType: z.string().optional(),
});
const Revision = Write.extend({
  /** The newest version of the object that the write takes into account. */
  baseVersion: Version,
  /** The object before the write, with the earlier writes of the queue applied. */
  before: Sealed,
});
const Change = Revision.extend({ kind: z.literal('change'), delta: Sealed });
const Removal = Revision.extend({ kind: z.literal('remove') });

export const QueuedWrite = z.discriminatedUnion('kind', [Creation, Change, Removal]);
export type QueuedWrite = z.output<typeof QueuedWrite>;
export type Revision = z.output<typeof Change> | z.output<typeof Removal>;

/**
 * A device's record of an object. All data is in the form in which the vault stores it, without
 * plaintext except for public fields.
 */
export const StoredObject = z.object({
  objectId: z.guid(),
  /** The newest known state of the vault; a tombstone if its data is null. */
  server: z
    .object({
      version: Version,
      data: Sealed.nullable(),
      statements: SealedStatements,
      /**
       * Time of the change as the vault reports it; undefined if the state comes from a conflict
       * response.
       */
      lastModifiedAt: z.string().optional(),
    })
    .nullable(),
  /** Writes that the vault has not settled yet, oldest first. */
  queue: z.array(QueuedWrite),
  /** The latest `changedAt` of a request, by the vault's clock. */
  lastChangedAt: z.number().optional(),
  /** The highest count of a statement of this device. */
  lastCount: z.int().positive().optional(),
});
export type StoredObject = z.output<typeof StoredObject>;
export type ServerState = NonNullable<StoredObject['server']>;

/** Returns the object with all local writes applied; undefined if it is deleted. */
export function viewOf({ server, queue }: StoredObject): SealedObject | undefined {
  return queue.reduce(afterWrite, server?.data ?? undefined);
}

/** Returns the object after a write. Creating an object that exists already changes nothing. */
export function afterWrite(
  data: SealedObject | undefined,
  write: QueuedWrite,
): SealedObject | undefined {
  switch (write.kind) {
    case 'create':
      return data ?? write.data;
    case 'change':
      return data === undefined ? undefined : applyPatch(data, write.delta);
    case 'remove':
      return undefined;
    default:
      return write satisfies never;
  }
}

/**
 * Returns the write without its request. With `refusal`, the write counts as refused and is not
 * sent until it is changed or retried.
 */
export function asUnsent<W extends QueuedWrite>(write: W, refusal?: W['refusal']): W {
  return { ...write, request: undefined, refusal };
}

/**
 * Returns whether the record can be removed: it has no pending writes, and the vault does not know
 * the object. The record of a deleted object stays, so that the object cannot come back.
 */
export function isSpent({ server, queue }: StoredObject): boolean {
  return queue.length === 0 && server === null;
}
