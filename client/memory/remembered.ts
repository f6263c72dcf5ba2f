import { z } from 'zod';

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

/** The newest state of a document that was seen, or `removed` once the user removed it. */
const RememberedDocument = z.union([DocumentState, z.literal('removed')]);
export type RememberedDocument = z.output<typeof RememberedDocument>;

/** A person whose keys the user confirmed. */
const RememberedPerson = z.object({
  /**
   * The fingerprints of the person's identities, newest first. Earlier ones still verify what they
   * signed.
   */
  fingerprints: z.array(z.string()).min(1).readonly(),
  /** The e-mail address, if the user shared something with it. */
  email: z.string().optional(),
});
export type RememberedPerson = z.output<typeof RememberedPerson>;

/** The document, and the version or all of them, for which a share stands for good. */
const RememberedShare = z.object({
  documentId: z.string(),
  /** Number of the only version; null for all. */
  version: z.int().positive().nullable(),
});
export type RememberedShare = z.output<typeof RememberedShare>;

/**
 * Values that changed, by what they are remembered of; null for a document that was forgotten. A
 * record of the store holds one.
 */
export const RememberedChanges = z.object({
  /** By the id of the document. */
  documents: z.record(z.string(), RememberedDocument.nullable()).default({}),
  /** By e-mail address or user id. */
  people: z.record(z.string(), RememberedPerson).default({}),
  /** By the id of a share that the user received. */
  shares: z.record(z.string(), RememberedShare).default({}),
  /** Fingerprints of the first audit keys that the vault showed. */
  vaultKeys: z.array(z.string()).optional(),
});
export type RememberedChanges = z.output<typeof RememberedChanges>;

/** Returns whether the vault cannot honestly show a state after the remembered one. */
export function isRolledBack(shown: DocumentState, remembered: RememberedDocument): boolean {
  if (remembered === 'removed') return true;
  const { version, change, metadataHash } = remembered;
  if (shown.version !== version) return shown.version < version;
  if (shown.change !== change) return shown.change < change;
  return shown.metadataHash !== metadataHash;
}
