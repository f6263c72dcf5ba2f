import { z } from 'zod';
import { counters, type Counter } from '../db/usage/quota.ts';

const Used = z
  .strictObject({
    used: z.int().min(0).describe('What the caller keeps now.'),
    limit: z.int().min(0).describe('The most that the plan allows.'),
  })
  .meta({ id: 'UsageOfLimit' });

const meanings: Readonly<Record<Counter, string>> = {
  openUploads: 'Upload sessions that are open.',
  storageBytes: 'Bytes of stored files and of the files of open uploads.',
  uploads: 'Upload sessions that are kept.',
  uploadParts: 'Parts of upload sessions that are kept.',
  documents: 'Versions of documents.',
  metadataBytes: 'Bytes of encrypted metadata.',
  keywords: 'Keyword hashes.',
  devices: 'Devices, with revoked ones.',
  shares: 'Shares that the caller made.',
  shareRecipients: 'Recipients that the caller asked for or shared with.',
  syncObjects: 'Synchronised objects, with tombstones.',
  syncObjectBytes: 'Bytes of synchronised objects.',
  historyEntries: 'Entries of the history of synchronised objects.',
  historyBytes: 'Bytes of the history of synchronised objects.',
  keptAnswers: 'Responses that are kept for replay.',
  keptAnswerBytes: 'Bytes of the responses that are kept for replay.',
};

const Counted = z
  .strictObject(
    Object.fromEntries(
      counters.map((counter) => [counter, Used.describe(meanings[counter])]),
    ) as Record<Counter, typeof Used>,
  )
  .meta({ id: 'UsageByLimit' });

export const UsageView = z
  .strictObject({
    plan: z.string().describe('The plan that applies.'),
    usage: Counted.describe('What counts towards the limits of the plan.'),
  })
  .meta({ id: 'Usage' });
