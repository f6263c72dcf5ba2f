import { z } from 'zod';
import { applyPatch } from '../objects/merge-patch.ts';
import type { SealedObject } from '../objects/object-encryption.ts';

const Sealed = z.record(z.string(), z.unknown());
const Version = z.int().nonnegative();

const Write = z.object({
  /** Time by this device's clock, in ms since 1970. */
  changedAt: z.number(),
  /** Once set, the write is sent unchanged with this id until the vault responds. */
  request: z.object({ id: z.uuid(), changedAt: z.number() }).optional(),
  /** Reason why the vault refused the write, which is not sent again as it is. */
  refusal: z.object({ code: z.string(), message: z.string() }).optional(),
});

const Creation = Write.extend({
  kind: z.literal('create'),
  data: Sealed,
  objectType: z.string().optional(),
});
const Revision = Write.extend({
  /** The newest version that the change takes into account. */
  baseVersion: Version,
  /** The object that was changed, with the earlier writes of the queue applied. */
  before: Sealed,
});
const Change = Revision.extend({ kind: z.literal('change'), delta: Sealed });
const Removal = Revision.extend({ kind: z.literal('remove') });

export const QueuedWrite = z.discriminatedUnion('kind', [Creation, Change, Removal]);
export type QueuedWrite = z.output<typeof QueuedWrite>;
export type Revision = z.output<typeof Change> | z.output<typeof Removal>;

/** A device's record of an object. All of it is as the vault has it: no plaintext. */
export const StoredObject = z.object({
  objectId: z.guid(),
  /** The newest known state of the vault; a tombstone if its data is null. */
  server: z
    .object({
      version: Version,
      data: Sealed.nullable(),
      /** Time as the vault reports it; undefined if the state comes from a conflict. */
      lastModifiedAt: z.string().optional(),
    })
    .nullable(),
  /** Writes that the vault has not settled yet, oldest first. */
  queue: z.array(QueuedWrite),
  /** The latest `changedAt` of a request, by the vault's clock. */
  lastChangedAt: z.number().optional(),
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

/** Returns the write without its request; with `refusal`, it is not sent again as it is. */
export function asUnsent<W extends QueuedWrite>(write: W, refusal?: W['refusal']): W {
  return { ...write, request: undefined, refusal };
}

/**
 * Returns whether the record can be forgotten: no pending writes, and deleted or unknown at the
 * vault.
 */
export function isSpent({ server, queue }: StoredObject): boolean {
  return queue.length === 0 && (server === null || server.data === null);
}

/**
 * Returns the object with the newer of the known state and that of a response, which may be old.
 */
export function withServer(object: StoredObject, server: ServerState): StoredObject {
  const isOld = object.server !== null && object.server.version > server.version;
  return isOld ? object : { ...object, server };
}
