import { z } from 'zod';
import { AccountNames } from '../../identity/account-names.ts';

/** A state of a document, by the place of its metadata in the document's history. */
const DocumentState = z.object({
  /** Number of the current version. */
  version: z.int().positive(),
  /** Number of changes of the metadata of this version. */
  change: z.int().nonnegative(),
  /** SHA3-256 of the encrypted metadata, 64 hex digits. */
  metadataHash: z.string().regex(/^[0-9a-f]{64}$/),
});
export type DocumentState = z.output<typeof DocumentState>;

/**
 * Returns the name of a document that the user received. Each signer has a namespace, so that
 * nobody's shares say anything of the user's own documents, or of somebody else's.
 */
export function receivedName(signer: string, documentId: string): string {
  return `${signer}/${documentId.toLowerCase()}`;
}

/** Returns the id of a document, and the signer of one that the user received, from its name. */
export function parseName(name: string): { readonly id: string; readonly signer?: string } {
  const [first = '', id] = name.split('/');
  return id === undefined ? { id: first } : { id, signer: first };
}

const Removed = z.object({ removed: z.literal(true) });

/** How often the user accepted an older state of a document, and in place of which one. */
const Accepted = {
  accepted: z.int().positive().optional(),
  insteadOf: z.union([DocumentState, Removed]).optional(),
};

/** The newest state of a document that was seen. */
const RememberedDocument = z.union([
  DocumentState.extend(Accepted),
  /** The user removed the document. */
  Removed.extend(Accepted),
  /** The user wants to believe what the vault shows next. */
  z.object({ forgotten: z.literal(true), ...Accepted }),
]);
export type RememberedDocument = z.output<typeof RememberedDocument>;

/** A person whose keys the user confirmed. */
const RememberedPerson = z.object({
  /**
   * The fingerprints of the person's identities, newest first. Earlier ones still verify what they
   * signed.
   */
  fingerprints: z.array(z.string()).min(1).readonly(),
  /** The e-mail address under which the user confirmed the keys, if any. */
  email: z.string().optional(),
});
export type RememberedPerson = z.output<typeof RememberedPerson>;

/** The content for which a share that the user received stands for good. */
const RememberedShare = z.object({
  documentId: z.string(),
  /** Number of the only version; null for all. */
  version: z.int().positive().nullable(),
  /** The fingerprint of the identity that signed it; null if nobody did. */
  signer: z.string().nullable(),
  /** SHA3-256 of the sealed key, 64 hex digits. */
  keyHash: z.string(),
});
export type RememberedShare = z.output<typeof RememberedShare>;

/** A share that the user gave. */
const GivenShare = z.object({
  documentId: z.string(),
  /** The id that the vault showed for the recipient. */
  recipientId: z.string(),
  /** The e-mail address of the recipient, whose keys the user confirmed. */
  email: z.string(),
  /** Number of the only version; null for all. */
  version: z.int().positive().nullable(),
  /** Time at which it ends; null if it does not. */
  expiresAt: z.string().nullable(),
});
export type GivenShare = z.output<typeof GivenShare>;

const Ended = z.object({ ended: z.literal(true) });

/** A share that the user gave, or ended. */
const RememberedGift = z.union([Ended, GivenShare]);
export type RememberedGift = z.output<typeof RememberedGift>;

/** The count and the hash of each device's statement in a synchronised object, by device. */
const StatementIds = z.record(z.string(), z.tuple([z.int().positive(), z.string()]).readonly());
export type StatementIds = Readonly<z.output<typeof StatementIds>>;

/** The newest state of a synchronised object that was seen. */
const RememberedObject = z.object({
  statements: StatementIds,
  /** The object was deleted. */
  deleted: z.literal(true).optional(),
  /** How often the user accepted an older state. */
  accepted: z.int().positive().optional(),
});
export type RememberedObject = Readonly<z.output<typeof RememberedObject>>;

/** A state of a synchronised object that this device or another one has seen. */
export interface KnownObject extends RememberedObject {
  /** The id of the device that told it; undefined if this device has seen it. */
  readonly toldBy?: string;
}

const DeviceFate = z.enum(['registered', 'revoked']);

/** Values that changed, by the name under which each is remembered. */
export const RememberedChanges = z.object({
  /** By the id of the document; of one that the user received, by `receivedName`. */
  documents: z.record(z.string(), RememberedDocument).default({}),
  /** By the id of a synchronised object. */
  objects: z.record(z.string(), RememberedObject).default({}),
  /** By e-mail address, and by the id that the vault shows for the owner of a received share. */
  people: z.record(z.string(), RememberedPerson).default({}),
  /** By the id of a share that the user received. */
  shares: z.record(z.string(), RememberedShare).default({}),
  /** By the id of a share that the user gave. */
  given: z.record(z.string(), RememberedGift).default({}),
  /** By the id of a device that the user registered. */
  devices: z.record(z.string(), DeviceFate).default({}),
  /** Fingerprints of the first audit keys that the vault showed, under the name `first`. */
  vaultKeys: z.record(z.string(), z.array(z.string())).default({}),
  /**
   * By the id of a device, the number of its last report that was lost, as the user accepted after
   * the vault was restored.
   */
  lost: z.record(z.string(), z.int().positive()).default({}),
  /** Under the name `own`: the names by which the vault knows the user and itself. */
  account: z.record(z.string(), AccountNames).default({}),
});
export type RememberedChanges = z.output<typeof RememberedChanges>;

/** The kinds of values that are remembered. */
export const kinds = [
  'documents',
  'objects',
  'people',
  'shares',
  'given',
  'devices',
  'vaultKeys',
  'lost',
  'account',
] as const;
export type Kind = (typeof kinds)[number];

/** The names of the values that were not told to the other devices yet. */
export type Untold = Partial<Record<Kind, string[]>>;

/** The last record of a writer that was read or written. */
const Head = z.object({
  number: z.int().positive(),
  /** SHA3-256 of the record, 64 hex digits. */
  hash: z.string(),
});
export type Head = z.output<typeof Head>;

/** How far the exchange with the user's other devices has come. */
const Exchanged = z.object({
  /** The generation of the master key under which the records were encrypted. */
  generation: z.int().positive(),
  /** Position of the last record that was read; 0 before the first. */
  position: z.int().nonnegative(),
  /** By the id of the writer. */
  heads: z.record(z.string(), Head),
  /** Number of the record with which this device began to tell everything; 0 if it has not. */
  start: z.int().nonnegative(),
  /** The highest number of a record of this device, under any master key. */
  last: z.int().nonnegative(),
});
export type Exchanged = z.output<typeof Exchanged>;

/** A record of the store: what changed, and what the other devices told. */
export const StoredChanges = RememberedChanges.extend({
  /** The values that each other device told, by its id. */
  told: z.record(z.string(), RememberedChanges).default({}),
  exchanged: Exchanged.optional(),
  /** The writer of a list of a rekey that the user wants to do without. */
  forgottenList: z.string().optional(),
  /** The values that were not told yet, after this record. By default, its own are added. */
  untold: z.partialRecord(z.string(), z.array(z.string())).optional(),
});
export type StoredChanges = z.output<typeof StoredChanges>;

/** Returns changes from which all kinds that are not given are absent. */
export function changesOf(given: Partial<RememberedChanges>): RememberedChanges {
  const none = Object.fromEntries(kinds.map((kind) => [kind, {}]));
  return { ...none, ...given } as RememberedChanges;
}
