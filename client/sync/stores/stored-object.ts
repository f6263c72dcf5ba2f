import { z } from 'zod';
import { applyPatch } from '../objects/merge-patch.ts';
import type { SealedObject } from '../objects/object-encryption.ts';

const Sealed = z.record(z.string(), z.unknown());
const Version = z.int().nonnegative();

const Write = z.object({
  /** By this device's clock, in ms since 1970. */
  changedAt: z.number(),
  /** From now on the write is sent as it is, under this id, until it is answered. */
  request: z.object({ id: z.uuid(), changedAt: z.number() }).optional(),
  /** Why the vault does not take it. It is not sent again as it is. */
  refusal: z.object({ code: z.string(), message: z.string() }).optional(),
});

const Creation = Write.extend({
  kind: z.literal('create'),
  data: Sealed,
  objectType: z.string().optional(),
});
const Revision = Write.extend({
  /** The newest version that whoever made the change had seen. */
  baseVersion: Version,
  /** What they saw, with the writes before this one. */
  before: Sealed,
});
const Change = Revision.extend({ kind: z.literal('change'), delta: Sealed });
const Removal = Revision.extend({ kind: z.literal('remove') });

export const QueuedWrite = z.discriminatedUnion('kind', [Creation, Change, Removal]);
export type QueuedWrite = z.output<typeof QueuedWrite>;
export type Revision = z.output<typeof Change> | z.output<typeof Removal>;

/** What a device keeps of an object. All of it is as the vault gets it: no plaintext. */
export const StoredObject = z.object({
  objectId: z.guid(),
  /** The newest state of the vault's that the device knows; without data a tombstone. */
  server: z
    .object({
      version: Version,
      data: Sealed.nullable(),
      /** As the vault says it; what a conflict tells of comes without. */
      lastModifiedAt: z.string().optional(),
    })
    .nullable(),
  /** What the vault has not answered yet, oldest first. */
  queue: z.array(QueuedWrite),
  /** The latest `changedAt` that a request had, by the vault's clock. */
  lastChangedAt: z.number().optional(),
});
export type StoredObject = z.output<typeof StoredObject>;
export type ServerState = NonNullable<StoredObject['server']>;

/** The object with all that was done here; undefined where it is deleted. */
export function viewOf({ server, queue }: StoredObject): SealedObject | undefined {
  return queue.reduce(afterWrite, server?.data ?? undefined);
}

/** What a write makes of the object; a creation of ours that is there already makes nothing new. */
export function afterWrite(
  data: SealedObject | undefined,
  write: QueuedWrite,
): SealedObject | undefined {
  switch (write.kind) {
    case 'create':
      return data ?? write.data;
    case 'change':
      return data && applyPatch(data, write.delta);
    case 'remove':
      return undefined;
    default:
      return write satisfies never;
  }
}

/** The same write, to be sent under another request or not at all. */
export function asUnsent<W extends QueuedWrite>(write: W, refusal?: W['refusal']): W {
  return { ...write, request: undefined, refusal };
}

/** Whether nothing is left to know of it. */
export function isSpent({ server, queue }: StoredObject): boolean {
  return queue.length === 0 && (server === null || server.data === null);
}

/** The newer of what is known and what an answer says, which may be an old one. */
export function withServer(object: StoredObject, server: ServerState): StoredObject {
  const isOld = object.server !== null && object.server.version > server.version;
  return isOld ? object : { ...object, server };
}
