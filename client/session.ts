import type { Credentials, Login } from './accounts/accounts.ts';
import { changePassword, type PasswordChange } from './accounts/change-password.ts';
import { closeAccount } from './accounts/close-account.ts';
import { reauthenticate, type Reauthenticated } from './accounts/reauth.ts';
import { createDevices, type Devices } from './devices/devices.ts';
import { certifyDocument } from './documents/certify-document.ts';
import { createDocuments, type Document, type Documents } from './documents/documents.ts';
import { storeDocument, type StoreDocumentOptions } from './documents/store-document.ts';
import type { CreateFileHash } from './files/hash.ts';
import type { Http } from './http/http.ts';
import type { RetryPolicy } from './http/retry.ts';
import { createEnvelopes, type Envelopes } from './keys/envelopes.ts';
import { holdKey } from './keys/held-key.ts';
import type { AuditProof } from './proofs/audit-proof.ts';
import { createProofs, type Proofs } from './proofs/proofs.ts';
import { createRecovery, type Recovery } from './recovery/recovery.ts';
import { draftRekey, type RekeyDraft, type RekeyOptions } from './rekey/rekey.ts';
import { createLoginSessions, type LoginSession } from './sessions/login-sessions.ts';
import type { SessionTokens } from './sessions/tokens.ts';
import { createSharingKeys } from './sharing/keys.ts';
import { createSharing, type Sharing } from './sharing/sharing.ts';
import { openSync } from './sync/sync-client.ts';
import { syncEvents, type SyncEvent, type SyncEventsOptions } from './sync/exchange/events.ts';
import type { Sync, SyncOptions } from './sync/sync.ts';
import type { UploadOptions } from './uploads/send-parts.ts';
import { uploadFile, type UploadedFile } from './uploads/upload.ts';
import { createUploads, type Uploads } from './uploads/uploads.ts';

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
  /** What the user's devices change, as it happens; see `syncEvents`. */
  syncEvents(options: SyncEventsOptions): AsyncGenerator<SyncEvent, void, void>;
  /** The user's objects on this device, which its other devices share. */
  sync(options: SyncOptions): Promise<Sync>;
  /** The user's logins that have not ended, newest first. */
  listSessions(options?: { pageSize?: number }): AsyncGenerator<LoginSession, void, void>;
  /** Ends one of them within 5 s, wherever it is used. VaultError 404 not_found. */
  revokeSession(id: string): Promise<void>;
  /** Ends this session. Also succeeds if it has ended already. */
  logout(): Promise<void>;
  /** For what asks for an X-Reauth-Token. VaultError invalid_proof for a wrong password. */
  reauthenticate(password: string): Promise<Reauthenticated>;
  readonly devices: Devices;
  readonly recovery: Recovery;
  /** Other sessions end. Throws as `reauthenticate` does. */
  changePassword(change: PasswordChange): Promise<void>;
  /** A new master key, once its new recovery words are confirmed. Throws device_unreachable. */
  draftRekey(options: RekeyOptions): Promise<RekeyDraft>;
  /**
   * After a rekey that broke off at its last step: the sharing key comes under the present master key.
   * Nothing is unreadable until then. `enableSharing` does it too.
   */
  finishRekey(): Promise<void>;
  /** For ever: keys and all that is not sealed are gone. Throws as `reauthenticate` does. */
  closeAccount(password: string): Promise<void>;
}

export function createSession({
  http,
  retry,
  tokens,
  email,
  passwordKey,
  deviceId,
  createFileHash,
}: {
  /** Sends the tokens along. */
  http: Http;
  retry: RetryPolicy;
  tokens: SessionTokens;
  email: Credentials['email'];
  passwordKey: Login['passwordKey'];
  deviceId: string | undefined;
  createFileHash: CreateFileHash;
}): VaultSession {
  const sessions = createLoginSessions({ http, tokens });
  const uploads = createUploads({ http });
  const documents = createDocuments({ http });
  const proofs = createProofs({ http });
  const held = holdKey(passwordKey);
  const envelopes = createEnvelopes({ http, passwordKey: held });
  const openMasterKeys = () => envelopes.openMasterKeys();
  const sharingKeys = createSharingKeys({ http, openMasterKeys });
  const account = { http, retry, envelopes, passwordKey: held, email };
  const devices = createDevices({ http, envelopes, proofs, deviceId });
  return {
    ...createSharing({ http, documents, keys: sharingKeys, openMasterKeys }),
    http,
    uploads,
    documents,
    proofs,
    envelopes,
    uploadFile: (options) => uploadFile({ uploads, createFileHash }, options),
    storeDocument: (options) => storeDocument({ uploads, documents, createFileHash }, options),
    certifyDocument: (id) => certifyDocument({ documents, proofs }, id),
    syncEvents: (options) => syncEvents({ http, retry }, options),
    sync: (options) => openSync({ http, ...options }),
    listSessions: (options) => sessions.list(options),
    revokeSession: (id) => sessions.revoke(id),
    async logout() {
      await sessions.logout();
      held.forget();
    },
    reauthenticate: (password) => reauthenticate({ http, retry }, { email, password }),
    devices,
    recovery: createRecovery(account),
    changePassword: (change) => changePassword(account, change),
    draftRekey: (options) => draftRekey({ ...account, devices, sharingKeys }, options),
    finishRekey: () => sharingKeys.rewrap(),
    async closeAccount(password) {
      await closeAccount({ http, retry, tokens }, { email, password });
      held.forget();
    },
  };
}
