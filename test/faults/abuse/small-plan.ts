import { writeFile } from 'node:fs/promises';
import { MiB } from '../../support/documents/files.ts';

/** Limits of the hostile account, so small that its attacks reach them. */
const limits = {
  openUploads: 20,
  storageBytes: 2 ** 30,
  uploads: 500,
  metadataBytes: 64 * MiB,
  syncObjects: 2_000,
  syncObjectBytes: 16 * MiB,
  historyEntries: 5_000,
  historyBytes: 16 * MiB,
  keptAnswers: 2_000,
  keptAnswerBytes: 4 * MiB,
};

export const smallPlan = 'small';

/** Bytes of a row beside the bytes that a plan counts, with its part of the indexes. */
const rowBytes = 1_024;

/** Mebibytes by which an account of the plan can let the database grow. */
export const smallPlanMiB = Math.ceil(
  (limits.syncObjectBytes +
    limits.historyBytes +
    limits.keptAnswerBytes +
    rowBytes * (limits.uploads + limits.syncObjects + limits.historyEntries + limits.keptAnswers)) /
    MiB,
);

/** Writes the plan into a file for PLANS_FILE. */
export async function writeSmallPlan(path: string): Promise<void> {
  await writeFile(path, JSON.stringify({ [smallPlan]: limits }));
}
