import type { Login } from './accounts.ts';
import type { AuditProof } from './audit-proof.ts';
import { certifyDocument } from './certify-document.ts';
import { createDocuments } from './documents.ts';
import type { Document, Documents } from './documents.ts';
import { createEnvelopes } from './envelopes.ts';
import type { Envelopes } from './envelopes.ts';
import type { CreateFileHash } from './file-hash.ts';
import type { Http } from './http.ts';
import { createProofs } from './proofs.ts';
import type { Proofs } from './proofs.ts';
import type { UploadOptions } from './send-parts.ts';
import { storeDocument } from './store-document.ts';
import type { StoreDocumentOptions } from './store-document.ts';
import { uploadFile } from './upload.ts';
import type { UploadedFile } from './upload.ts';
import { createUploads } from './uploads.ts';
import type { Uploads } from './uploads.ts';

/** What a user does after login. Once the access token expires, VaultError token_expired. */
export interface VaultSession {
  /** For what this interface does not name: requests with the session's token. */
  readonly http: Http;
  readonly envelopes: Envelopes;
  readonly uploads: Uploads;
  readonly documents: Documents;
  readonly proofs: Proofs;
  uploadFile(options: UploadOptions): Promise<UploadedFile>;
  storeDocument(options: StoreDocumentOptions): Promise<Document>;
  certifyDocument(id: string): Promise<AuditProof>;
}

export function createSession({
  http,
  passwordKey,
  createFileHash,
}: {
  http: Http;
  passwordKey: Login['passwordKey'];
  createFileHash: CreateFileHash;
}): VaultSession {
  const uploads = createUploads({ http });
  const documents = createDocuments({ http });
  const proofs = createProofs({ http });
  return {
    http,
    uploads,
    documents,
    proofs,
    envelopes: createEnvelopes({ http, passwordKey }),
    uploadFile: (options) => uploadFile({ uploads, createFileHash }, options),
    storeDocument: (options) => storeDocument({ uploads, documents, createFileHash }, options),
    certifyDocument: (id) => certifyDocument({ documents, proofs }, id),
  };
}
