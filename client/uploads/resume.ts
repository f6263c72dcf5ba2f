import { z } from 'zod';

/**
 * The file, its key (wrapped under the master key), its header, the key under which its session is
 * asked for, and the document that it becomes a version of.
 */
const StartRecord = z.object({
  type: z.literal('start'),
  version: z.literal(2),
  idempotencyKey: z.uuid(),
  wrappedKey: z.base64(),
  header: z.base64(),
  plaintextSize: z.int().nonnegative(),
  encryptedSize: z.int().positive(),
  partSize: z.int().positive(),
  totalParts: z.int().positive(),
  documentId: z.uuid().optional(),
});

/** The session that the file goes to. Without this record there may be one all the same. */
const CreatedRecord = z.object({ type: z.literal('created'), sessionId: z.uuid() });

/** This part has these encrypted bytes and no others, from now on. */
const PartRecord = z.object({
  type: z.literal('part'),
  number: z.int().positive(),
  sha256: z.string(),
});

/** The server has this part. */
const SentRecord = z.object({ type: z.literal('sent'), number: z.int().positive() });

/** The server has the file. */
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

/** The journal of one file's upload, held by one upload at a time. */
export interface ResumeStore {
  /** In the order they were appended; none if there is no journal or a damaged one. */
  load(): Promise<ResumeRecord[]>;
  /**
   * Resolves only once the record is durable: a part is sent after its record, since other bytes
   * under the same key and nonces would give the key of GCM away.
   */
  append(record: ResumeRecord): Promise<void>;
  /** Resolves only once the journal is gone for good. */
  clear(): Promise<void>;
}

/** For uploads that are not resumed: a key that is in memory alone is never used twice. */
export const noResume: ResumeStore = {
  load: async () => [],
  append: async () => {},
  clear: async () => {},
};

export interface ResumeState {
  readonly start: StartRecord;
  readonly sessionId: string | undefined;
  /** SHA-256 by part number, hex. */
  readonly digests: ReadonlyMap<number, string>;
  readonly sent: ReadonlySet<number>;
  readonly storagePath: string | undefined;
}

/** Undefined if the records do not tell of one upload, which then starts afresh. */
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
