import type { z } from 'zod';
import type { Owner, Tx } from '../../db/database.ts';
import { assertIfMatch, type IfMatch } from '../../http/responses/precondition.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { Act, Acted } from '../../audit-trail/act.ts';
import {
  assertPending,
  lockDocument,
  toRevised,
  type RevisedDocument,
} from '../records/document-rows.ts';
import { changeMetadata } from '../records/document-changes.ts';
import { replaceKeywords } from '../records/keyword-rows.ts';
import { hashMetadata } from '../records/metadata-hash.ts';
import type { ReplaceMetadata } from '../records/schema.ts';

/**
 * New metadata for a document. `ifMatch` is the revision of the document that the client expects.
 */
interface Replacement extends z.output<typeof ReplaceMetadata> {
  readonly ifMatch: IfMatch | undefined;
}

export type DocumentMetadata = ReturnType<typeof createDocumentMetadata>;

/** Creates the service that changes the metadata of documents. */
export function createDocumentMetadata({ act }: { readonly act: Act }) {
  return {
    /**
     * Replaces the metadata of the current version, and the document's keywords if
     * `keywordDeterministic` is given. Throws not_found, document_sealed, document_expired,
     * precondition_required or precondition_failed.
     */
    replace: (
      request: ServiceRequest,
      id: string,
      replacement: Replacement,
    ): Promise<RevisedDocument> =>
      act(request, (tx) => replaceMetadata(tx, request.caller, id, replacement)),
  };
}

async function replaceMetadata(
  tx: Tx,
  owner: Owner,
  id: string,
  { encryptedMetadata, keywordDeterministic, ifMatch }: Replacement,
): Promise<Acted<RevisedDocument>> {
  const row = await lockDocument(tx, owner, id);
  // The precondition is evaluated only if all other checks pass (RFC 9110 §13.2.1).
  assertPending(row);
  assertIfMatch(ifMatch, row.revision);
  const changed = changeMetadata(tx, row, { encrypted_metadata: encryptedMetadata });
  if (keywordDeterministic !== undefined) await replaceKeywords(tx, row, keywordDeterministic);
  const event = {
    action: 'document.metadata_changed',
    resource: { type: 'document', id },
    data: { version: row.version, metadataHash: hashMetadata(encryptedMetadata) },
  } as const;
  return { answer: toRevised(changed), events: [event] };
}
