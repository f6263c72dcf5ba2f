import type { DocumentExpiry } from '../documents/expiry.ts';
import type { MaintenanceTask } from './task.ts';

const nothing = { expiredVersions: 0 };

/** Creates the task that expires versions of documents which waited too long to be sealed. */
export function createExpireDocuments(
  expiry: DocumentExpiry,
): MaintenanceTask<'expire-documents', typeof nothing> {
  return {
    name: 'expire-documents',
    nothing,
    async *batches(_request, { dryRun }) {
      // DocumentExpiry has its own batches and entries.
      const { expired } = await expiry.expire({ dryRun });
      yield async () => ({ expiredVersions: expired });
    },
  };
}
