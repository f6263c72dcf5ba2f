import { z } from 'zod';

/**
 * The first record: the version that the file becomes (version 1 of a new document, or a version of
 * one that exists), the document's key (wrapped under the master key), the file's header, and the
 * idempotency key of its upload session.
 */
const StartRecord = z.object({
  type: z.literal('start'),
  format: z.literal(3),
  idempotencyKey: z.uuid(),
  wrappedKey: z.base64(),
  header: z.base64(),
  plaintextSize: z.int().nonnegative(),
  encryptedSize: z.int().positive(),
  partSize: z.int().positive(),
  totalParts: z.int().positive(),
  documentId: z.uuid(),
  version: z.int().positive(),
});

/**
 * Records the id of the upload session. If this record is missing, the vault may have created an
 * upload session nevertheless.
 */
const CreatedRecord = z.object({ type: z.literal('created'), sessionId: z.uuid() });

/**
 * Records the SHA-256 of a part's encrypted bytes. Other bytes MUST NOT be sent for this part
 * afterwards.
 */
const PartRecord = z.object({
  type: z.literal('part'),
  number: z.int().positive(),
  sha256: z.string(),
});

/** Records that the server has this part. */
const SentRecord = z.object({ type: z.literal('sent'), number: z.int().positive() });

/** Records that the server has the whole file. */
const CompletedRecord = z.object({ type: z.literal('completed'), storagePath: z.string() });

export const ResumeRecord = z.discriminatedUnion('type', [
  StartRecord,
  CreatedRecord,
  PartRecord,
  SentRecord,
  CompletedRecord,
]);
export type ResumeRecord = z.output<typeof ResumeRecord>;
export type StartRecord = z.output<typeof StartRecord>;

/**
 * The journal of one file's upload, held by one upload at a time. An application may pass its own
 * implementation.
 */
export interface ResumeStore {
  /**
   * Resolves with the records in the order of `append`; with none if there is no journal or if it
   * is damaged.
   */
  load(): Promise<ResumeRecord[]>;
  /**
   * Adds a record. MUST resolve only once it is durable: a part is sent only after its record was
   * added, since encrypting other bytes with the same key and nonces would disclose the
   * authentication key of GCM.
   */
  append(record: ResumeRecord): Promise<void>;
  /** Deletes the journal. MUST resolve only once that is durable. */
  clear(): Promise<void>;
}

/**
 * A journal that keeps nothing, for uploads that are not resumed: their keys are never used again.
 */
export const noResume: ResumeStore = {
  load: async () => [],
  append: async () => {},
  clear: async () => {},
};

export interface ResumeState {
  readonly start: StartRecord;
  readonly sessionId: string | undefined;
  /** SHA-256 of parts by number, hex. */
  readonly digests: ReadonlyMap<number, string>;
  readonly sent: ReadonlySet<number>;
  readonly storagePath: string | undefined;
}

/**
 * Returns the state of the upload that the records describe. Returns undefined if the records do
 * not belong to one upload; the file must then be uploaded from the beginning.
 */
export function replayRecords([start, ...rest]: readonly ResumeRecord[]): ResumeState | undefined {
  if (start?.type !== 'start') return undefined;
  const digests = new Map<number, string>();
  const sent = new Set<number>();
  let sessionId: string | undefined;
  let storagePath: string | undefined;
  for (const record of rest) {
    if (record.type === 'start') return undefined;
    else if (record.type === 'created') sessionId ??= record.sessionId;
    else if (record.type === 'completed') storagePath = record.storagePath;
    else if (record.type === 'sent') sent.add(record.number);
    else if ((digests.get(record.number) ?? record.sha256) !== record.sha256) return undefined;
    else digests.set(record.number, record.sha256);
  }
  return { start, sessionId, digests, sent, storagePath };
}
