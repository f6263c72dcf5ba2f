import type { Credentials, Login } from './accounts.ts';
import type { AuditProof } from './audit-proof.ts';
import { certifyDocument } from './certify-document.ts';
import { closeAccount } from './close-account.ts';
import { createDocuments } from './documents.ts';
import type { Document, Documents } from './documents.ts';
import { createEnvelopes } from './envelopes.ts';
import type { Envelopes } from './envelopes.ts';
import type { CreateFileHash } from './file-hash.ts';
import type { Http } from './http.ts';
import { createLoginSessions } from './login-sessions.ts';
import type { LoginSession } from './login-sessions.ts';
import { createProofs } from './proofs.ts';
import type { Proofs } from './proofs.ts';
import { reauthenticate } from './reauth.ts';
import type { Reauthenticated } from './reauth.ts';
import type { UploadOptions } from './send-parts.ts';
import type { SessionTokens } from './session-tokens.ts';
import { createSharing } from './sharing.ts';
import type { Sharing } from './sharing.ts';
import { storeDocument } from './store-document.ts';
import type { StoreDocumentOptions } from './store-document.ts';
import { uploadFile } from './upload.ts';
import type { UploadedFile } from './upload.ts';
import { createUploads } from './uploads.ts';
import type { Uploads } from './uploads.ts';

/**
 * What a user does after login. It goes on by itself until it is ended, here or by another session,
 * or nobody has used it for 30 days: from then on everything throws ClientError session_ended.
 */
export interface VaultSession extends Sharing {
  /** For what this interface does not name: requests with the session's token. */
  readonly http: Http;
  readonly envelopes: Envelopes;
  readonly uploads: Uploads;
  readonly documents: Documents;
  readonly proofs: Proofs;
  uploadFile(options: UploadOptions): Promise<UploadedFile>;
  storeDocument(options: StoreDocumentOptions): Promise<Document>;
  certifyDocument(id: string): Promise<AuditProof>;
  /** The user's logins that have not ended, newest first. */
  listSessions(options?: { pageSize?: number }): AsyncGenerator<LoginSession, void, void>;
  /** Ends one of them within 5 s, wherever it is used. VaultError 404 not_found. */
  revokeSession(id: string): Promise<void>;
  /** Ends this session. Also succeeds if it has ended already. */
  logout(): Promise<void>;
  /** For what asks for an X-Reauth-Token. VaultError invalid_proof for a wrong password. */
  reauthenticate(password: string): Promise<Reauthenticated>;
  /** For ever: keys and all that is not sealed are gone. Throws as `reauthenticate` does. */
  closeAccount(password: string): Promise<void>;
}

export function createSession({
  http,
  tokens,
  email,
  passwordKey,
  createFileHash,
}: {
  /** Sends the tokens along. */
  http: Http;
  tokens: SessionTokens;
  email: Credentials['email'];
  passwordKey: Login['passwordKey'];
  createFileHash: CreateFileHash;
}): VaultSession {
  const sessions = createLoginSessions({ http, tokens });
  const uploads = createUploads({ http });
  const documents = createDocuments({ http });
  const proofs = createProofs({ http });
  const envelopes = createEnvelopes({ http, passwordKey });
  return {
    ...createSharing({ http, documents, openMasterKey: () => envelopes.openMasterKey() }),
    http,
    uploads,
    documents,
    proofs,
    envelopes,
    uploadFile: (options) => uploadFile({ uploads, createFileHash }, options),
    storeDocument: (options) => storeDocument({ uploads, documents, createFileHash }, options),
    certifyDocument: (id) => certifyDocument({ documents, proofs }, id),
    listSessions: (options) => sessions.list(options),
    revokeSession: (id) => sessions.revoke(id),
    logout: () => sessions.logout(),
    reauthenticate: (password) => reauthenticate(http, { email, password }),
    closeAccount: (password) => closeAccount({ http, tokens }, { email, password }),
  };
}
