import type { Counter, Counts } from '../db/usage/quota.ts';

/** The limits on what one account keeps. */
export type Plan = Counts;

/** A limit of the plan `standard`, for its setting. */
interface StandardLimit {
  readonly standard: number;
  readonly unit: string;
  /** Completes the sentence 'How many … an account of the plan `standard` may keep'. */
  readonly what: string;
}

const GiB = 2 ** 30;
const MiB = 2 ** 20;

export const standardLimits: Readonly<Record<Counter, StandardLimit>> = {
  openUploads: { standard: 20, unit: 'uploads', what: 'uploads in progress' },
  storageBytes: {
    standard: 50 * GiB,
    unit: 'bytes',
    what: 'bytes of files, uploads in progress included,',
  },
  uploads: {
    standard: 250_000,
    unit: 'uploads',
    what: 'uploads in any state (ended ones for 7 days, completed ones as long as their documents)',
  },
  uploadParts: { standard: 1_000_000, unit: 'parts', what: 'parts of these uploads' },
  documents: { standard: 200_000, unit: 'documents', what: 'documents' },
  metadataBytes: {
    standard: GiB,
    unit: 'bytes',
    what: 'bytes of base64 metadata, in all versions of documents,',
  },
  keywords: { standard: 2_000_000, unit: 'keywords', what: 'keywords of documents' },
  devices: { standard: 1_000, unit: 'devices', what: 'devices, revoked ones included,' },
  shares: { standard: 100_000, unit: 'shares', what: 'shares of documents' },
  shareRecipients: {
    standard: 10_000,
    unit: 'recipients',
    what: 'recipients whose sharing key was asked for',
  },
  syncObjects: { standard: 200_000, unit: 'objects', what: 'synchronised objects' },
  syncObjectBytes: { standard: GiB, unit: 'bytes', what: 'bytes of synchronised objects' },
  historyEntries: {
    standard: 2_000_000,
    unit: 'entries',
    what: 'entries in the histories of synchronised objects',
  },
  historyBytes: {
    standard: GiB,
    unit: 'bytes',
    what: 'bytes of changed fields and of former values in these histories',
  },
  keptAnswers: {
    standard: 500_000,
    unit: 'responses',
    what: 'responses for a repeated X-Sync-Request-Id (7 days) or Idempotency-Key (24 hours)',
  },
  keptAnswerBytes: { standard: 256 * MiB, unit: 'bytes', what: 'bytes of these responses' },
};
