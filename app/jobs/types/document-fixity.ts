import type { Database } from '../../db/database.ts';
import { recordChecks } from '../../documents/fixity/recorded-checks.ts';
import type { CheckedFile, CheckFile } from '../../documents/fixity/file-check.ts';
import { mayRead } from '../../documents/records/access.ts';
import { loadOwner } from '../../documents/records/document-rows.ts';
import { loadFiles } from '../../documents/records/stored-files.ts';
import { AppError } from '../../errors/app-error.ts';
import { mayAccess } from '../../http/requests/caller.ts';
import type { Log } from '../../telemetry/log.ts';
import { jobType } from './job-type.ts';
import { DocumentFixity, DocumentFixityResult } from './schemas.ts';

interface DocumentFixityOptions {
  readonly db: Database;
  readonly checkFile: CheckFile;
  readonly log: Log;
}

/**
 * Creates the type of jobs that read the stored files of a document, and compare them with the
 * hashes of their uploads. Damage is a result of the job; only an object store that is unavailable
 * makes it fail.
 */
export function createDocumentFixity({ db, checkFile, log }: DocumentFixityOptions) {
  return jobType({
    name: 'DOCUMENT_FIXITY',
    payload: DocumentFixity,
    result: DocumentFixityResult,
    concurrency: 1,
    timeLimitSeconds: 6 * 3_600,
    maxAttempts: 8,
    erasesPayload: false,

    async prepare({ caller }, { documentId }) {
      // The result shows what only tokens with this scope may read.
      if (!mayAccess(caller, mayRead)) throw new AppError('access_denied');
      await db.asUser(caller, (tx) => loadOwner(tx, caller, documentId));
      return { documentId };
    },

    async run({ owner, requestId, payload: { documentId }, signal }) {
      const files = await db.asUser(owner, (tx) => loadFiles(tx, owner, documentId));
      const checked: CheckedFile[] = [];
      for (const file of files) {
        signal.throwIfAborted();
        checked.push({ file, finding: await checkFile(file) });
      }
      return {
        result: { documentId, versions: checked.map(toView) },
        effects: async (tx) => {
          const cause = { requestedBy: null, requestId };
          const { count, events } = await recordChecks(tx, checked, { cause, log });
          if (count < checked.length) throw new AppError('not_found');
          return events;
        },
      };
    },
  });
}

function toView({ file, finding }: CheckedFile) {
  return { version: file.version, fileHash: file.file_hash, ...finding };
}
