import type { DocumentExpiry } from '../../documents/expiry.ts';
import type { MaintenanceTask } from './task.ts';

const nothing = { expiredVersions: 0 };

/** Creates the task that expires document versions that were not sealed in time. */
export function createExpireDocuments(
  expiry: DocumentExpiry,
): MaintenanceTask<'expire-documents', typeof nothing> {
  return {
    name: 'expire-documents',
    nothing,
    async *batches(_request, { dryRun }) {
      // DocumentExpiry commits its own batches and appends its own audit entries.
      const { expired } = await expiry.expire({ dryRun });
      yield async () => ({ expiredVersions: expired });
    },
  };
}
