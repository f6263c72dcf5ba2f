import type { DocumentExpiry } from '../documents/expiry.ts';
import type { MaintenanceTask } from './task.ts';

const nothing = { expiredVersions: 0 };

/** Ends versions of documents that waited too long to be sealed. */
export function createExpireDocuments(
  expiry: DocumentExpiry,
): MaintenanceTask<'expire-documents', typeof nothing> {
  return {
    name: 'expire-documents',
    nothing,
    async *batches({ dryRun }) {
      // In batches and with entries of its own.
      const { expired } = await expiry.expire({ dryRun });
      yield async () => ({ expiredVersions: expired });
    },
  };
}
