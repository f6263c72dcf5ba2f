import { mayRead } from '../../documents/records/access.ts';
import { lockDocument } from '../../documents/records/document-rows.ts';
import { AppError } from '../../errors/app-error.ts';
import type { EvidenceExports } from '../../evidence-exports/evidence-exports.ts';
import { insertExport, removeExports } from '../../evidence-exports/rows/export-rows.ts';
import { mayAccess } from '../../http/requests/caller.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { jobType } from './job-type.ts';
import { EvidenceExport, EvidenceExportResult } from './schemas.ts';

/**
 * Shorter than the least grace period of garbage in production, one hour: an archive that is being
 * written has no row yet.
 */
const timeLimitSeconds = 1_800;

interface EvidenceExportOptions {
  readonly exports: EvidenceExports;
  readonly outbox: Outbox;
}

/** Creates the type of jobs that write the evidence of a document into an archive. */
export function createEvidenceExport({ exports, outbox }: EvidenceExportOptions) {
  return jobType({
    name: 'EVIDENCE_EXPORT',
    payload: EvidenceExport,
    result: EvidenceExportResult,
    concurrency: 1,
    timeLimitSeconds,
    maxAttempts: 5,
    erasesPayload: false,

    async prepare({ caller }, { documentId, includeFile }) {
      // An archive shows what only tokens with these scopes may read.
      if (!mayAccess(caller, mayRead)) throw new AppError('access_denied');
      await exports.assertExportable(caller, documentId);
      return { documentId, includeFile: includeFile ?? false };
    },

    async run({ id, owner, requestId, payload, signal }) {
      const written = await exports.write({ jobId: id, owner, requestId, ...payload, signal });
      const { documentId, size, hash, through, manifestHash, proofId, expiresAt } = written;
      const downloadPath = `/v1/jobs/${id}/export`;
      const evidence = { documentId, through, proofId, manifestHash };
      return {
        result: { ...evidence, downloadPath, size, hash, expiresAt: expiresAt.toISOString() },
        async effects(tx) {
          // A document has one archive at a time.
          await lockDocument(tx, owner, documentId);
          await removeExports(tx, outbox, { documentId });
          await insertExport(tx, owner, written);
          return [];
        },
      };
    },
  });
}
