import type { Login } from './accounts.ts';
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

/** What a user does after login. Access tokens are renewed as they expire. */
export interface VaultSession {
  /** For what this interface does not name: requests with the session's token. */
  readonly http: Http;
  readonly envelopes: Envelopes;
  readonly uploads: Uploads;
  readonly documents: Documents;
  readonly proofs: Proofs;
  uploadFile(options: UploadOptions): Promise<UploadedFile>;
  storeDocument(options: StoreDocumentOptions): Promise<Document>;
  logout(): Promise<void>;
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
  return {
    http,
    uploads,
    documents,
    envelopes: createEnvelopes({ http, passwordKey }),
    proofs: createProofs({ http }),
    uploadFile: (options) => uploadFile({ uploads, createFileHash }, options),
    storeDocument: (options) => storeDocument({ uploads, documents, createFileHash }, options),
    async logout() {
      await http.send({ method: 'POST', path: '/v1/auth/logout' });
    },
  };
}
