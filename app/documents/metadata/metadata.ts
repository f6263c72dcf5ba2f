import type { z } from 'zod';
import { byOwner } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';
import { assertIfMatch, type IfMatch } from '../../http/answers/precondition.ts';
import {
  assertPending,
  changeCurrent,
  lockDocument,
  toRevised,
  type RevisedDocument,
} from '../records/document-rows.ts';
import { replaceKeywords } from '../records/keyword-rows.ts';
import { hashMetadata } from '../records/metadata-hash.ts';
import type { ReplaceMetadata } from '../records/schema.ts';

/** Whoever replaces metadata says of which state of the document. */
interface ReplacementRequest {
  readonly ifMatch: IfMatch | undefined;
  readonly requestId: string;
}

export interface DocumentMetadata {
  /**
   * Replaces the metadata of the current version, and the keywords of the document where any are
   * given. Throws not_found, document_sealed, document_expired, precondition_required or
   * precondition_failed.
   */
  replace(
    caller: Caller,
    id: string,
    input: z.output<typeof ReplaceMetadata>,
    request: ReplacementRequest,
  ): Promise<RevisedDocument>;
}

interface MetadataOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
}

export function createDocumentMetadata({ db, audit }: MetadataOptions): DocumentMetadata {
  return {
    async replace(caller, id, { encryptedMetadata, keywordDeterministic }, request) {
      audit.assertWritable();
      return db.asUser(caller, async (tx) => {
        const row = await lockDocument(tx, id);
        // Before the precondition, which matters only where all else is well (RFC 9110 §13.2.1).
        assertPending(row);
        assertIfMatch(request.ifMatch, row.revision);
        const changed = await changeCurrent(tx, row, { encrypted_metadata: encryptedMetadata });
        if (keywordDeterministic !== undefined) {
          await replaceKeywords(tx, row, keywordDeterministic);
        }
        await audit.append(tx, {
          action: 'document.metadata_changed',
          ...byOwner(caller, request.requestId),
          resource: { type: 'document', id },
          data: { version: row.version, metadataHash: hashMetadata(encryptedMetadata) },
        });
        return toRevised(changed);
      });
    },
  };
}
