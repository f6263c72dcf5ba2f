import type { Credentials, Login } from './accounts/accounts.ts';
import { changePassword, type PasswordChange } from './accounts/change-password.ts';
import { closeAccount } from './accounts/close-account.ts';
import { reauthenticate, type Reauthenticated } from './accounts/reauth.ts';
import { createDevices, type Devices } from './devices/devices.ts';
import { createAuthor } from './authorship/author.ts';
import {
  certifyDocument,
  type CertifyOptions,
  type Seal,
} from './documents/acts/certify-document.ts';
import { deleteDocument } from './documents/acts/delete-document.ts';
import { createDocuments, type Document, type Documents } from './documents/documents.ts';
import { storeDocument, type StoreDocumentOptions } from './documents/store-document.ts';
import type { Bytes } from './bytes/bytes.ts';
import { disclose, type Disclosure, type DisclosureOptions } from './disclosure/disclose.ts';
import { ClientError } from './errors/client-error.ts';
import { VaultError } from './errors/vault-error.ts';
import type { CreateHash } from './crypto/hash.ts';
import type { Http } from './http/http.ts';
import { createIdentities } from './identity/identities.ts';
import { createJobs, type Jobs } from './jobs/jobs.ts';
import type { RetryPolicy } from './http/retry.ts';
import { createEnvelopes, type Envelopes } from './keys/envelopes.ts';
import { holdKey } from './keys/held-key.ts';
import { createReplacedKeys, type ReplacedKeys } from './keys/replaced-keys.ts';
import { createMemory } from './memory/create-memory.ts';
import { createMemoryExchange } from './memory/exchange/exchange.ts';
import { createRecords } from './memory/exchange/records.ts';
import type { Memory } from './memory/memory.ts';
import { createMfa, type Mfa } from './mfa/mfa.ts';
import type { MemoryStore } from './memory/storage/memory-store.ts';
import { createProofs, type Proofs } from './proofs/proofs.ts';
import { listRestores, type Restore } from './proofs/restores.ts';
import type { TrustedKeys } from './proofs/trusted-keys.ts';
import { createRecovery, type Recovery } from './recovery/recovery.ts';
import { draftRekey, type RekeyDraft, type RekeyOptions } from './rekey/rekey.ts';
import { createReadNames } from './sessions/account-names.ts';
import { createLoginSessions, type LoginSession } from './sessions/login-sessions.ts';
import type { SessionTokens } from './sessions/tokens.ts';
import { createBlockedSenders, type BlockedSenders } from './sharing/blocked-senders.ts';
import { createSharing, type Sharing } from './sharing/sharing.ts';
import { openSync } from './sync/sync-client.ts';
import { syncEvents, type SyncEvent, type SyncEventsOptions } from './sync/exchange/events.ts';
import type { Sync, SyncOptions } from './sync/sync.ts';
import type { UploadOptions } from './uploads/send-parts.ts';
import { uploadFile, type UploadedFile } from './uploads/upload.ts';
import { createUploads, type Uploads } from './uploads/uploads.ts';

/**
 * The calls that a user can make after login. The session renews its tokens until `logout` or
 * another session ends it, or until it has not been used for 30 days. After that, every method
 * throws ClientError session_ended. Every method also throws what `Http` throws: VaultError, and
 * ClientError network_error or invalid_response.
 */
export interface VaultSession extends Sharing, BlockedSenders {
  /**
   * Sends requests with the session's access token, for routes that this interface does not cover.
   */
  readonly http: Http;
  /**
   * The user's master key and the envelopes in which it is wrapped. `createMasterKey` creates the
   * user's identity too.
   */
  readonly envelopes: Envelopes;
  /** The single steps of an upload; `uploadFile` and `storeDocument` carry out all of them. */
  readonly uploads: Uploads;
  readonly documents: Documents;
  /** Remembers what the vault has shown to this device, and compares every answer with it. */
  readonly memory: Memory;
  readonly proofs: Proofs;
  /** Encrypts and uploads a file, and resumes an interrupted upload; see `uploadFile`. */
  uploadFile(options: UploadOptions): Promise<UploadedFile>;
  /** Encrypts and uploads a file and creates a document from it; see `storeDocument`. */
  storeDocument(options: StoreDocumentOptions): Promise<Document>;
  /** Seals a document and resolves with its verified seal; see `certifyDocument`. */
  certifyDocument(id: string, options?: CertifyOptions): Promise<Seal>;
  /** Deletes a document, and states so; see `deleteDocument`. */
  deleteDocument(id: string): Promise<void>;
  /**
   * Makes what the user hands over to show what a sealed version is, whole or by segments; see
   * `disclose`.
   */
  disclose(id: string, options?: DisclosureOptions): Promise<Disclosure>;
  /**
   * Lists the restores of the vault from a backup that it has sealed, newest first, so that the
   * user can tell one from a lie before they accept an older state.
   */
  listRestores(): Promise<Restore[]>;
  /** Yields the changes of all of the user's devices as they happen; see `syncEvents`. */
  syncEvents(options: SyncEventsOptions): AsyncGenerator<SyncEvent, void, void>;
  /** Opens the user's objects on this device, which are synchronised with the other devices. */
  sync(options: SyncOptions): Promise<Sync>;
  /** Lists the user's login sessions that have not ended, newest first. */
  listSessions(options?: { readonly pageSize?: number }): AsyncGenerator<LoginSession, void, void>;
  /**
   * Ends a login session of the user. The vault refuses its tokens after 5 s at the latest. Throws
   * VaultError 404 not_found.
   */
  revokeSession(id: string): Promise<void>;
  /** Ends this session and zeroes its keys. Idempotent. */
  logout(): Promise<void>;
  /**
   * Proves the password once more and resolves with a reauthentication token, for routes that need
   * the header X-Reauth-Token. Throws VaultError 401 invalid_proof for a wrong password, or 429
   * rate_limited.
   */
  reauthenticate(password: string): Promise<Reauthenticated>;
  readonly devices: Devices;
  readonly recovery: Recovery;
  /** The user's second factors at the vault's identity provider. */
  readonly mfa: Mfa;
  /**
   * Sets a new password and ends the user's other login sessions. Throws what `reauthenticate`
   * throws.
   */
  changePassword(change: PasswordChange): Promise<void>;
  /**
   * Prepares a new master key, which takes effect once its recovery words are confirmed. Throws
   * device_unreachable.
   */
  draftRekey(options: RekeyOptions): Promise<RekeyDraft>;
  /** Work that the vault does after it has responded. */
  readonly jobs: Jobs;
  /** The user's envelopes and sharing keys that were replaced in the last 30 days. */
  readonly replacedKeys: ReplacedKeys;
  /**
   * Closes the account permanently: all keys and everything that is not sealed are deleted. Throws
   * what `reauthenticate` throws.
   */
  closeAccount(password: string): Promise<void>;
}

export function createSession({
  http,
  retry,
  tokens,
  email,
  passwordKey,
  deviceId,
  trustedKeys,
  memoryStore,
  createHash,
  now,
}: {
  /** Sends requests with the session's access token. */
  readonly http: Http;
  readonly retry: RetryPolicy;
  readonly tokens: SessionTokens;
  readonly email: Credentials['email'];
  readonly passwordKey: Login['passwordKey'];
  readonly deviceId: string | undefined;
  readonly trustedKeys: TrustedKeys;
  /** Undefined for a memory that lasts as long as the session. */
  readonly memoryStore: MemoryStore | undefined;
  readonly createHash: CreateHash;
  readonly now: () => Date;
}): VaultSession {
  const sessions = createLoginSessions({ http, tokens });
  const uploads = createUploads({ http });
  const records = createRecords(http);
  const memory = createMemory({
    store: memoryStore,
    openKeys: () => stored.openKeyring(),
    exchange: createMemoryExchange({
      records,
      openIdentity: () => identities.open(),
      deviceId: () => listedDevices.current(),
    }),
  });
  const documents = rememberRemovals(createDocuments({ http }), memory);
  const proofs = createProofs({ http });
  const held = holdKey(passwordKey);
  const lookAtKeys = () => memory.lookAtKeys();
  const fingerprintUnder = (masterKey: Bytes) => identities.fingerprintUnder(masterKey);
  const stored = createEnvelopes({ http, passwordKey: held, lookAtKeys, fingerprintUnder });
  const openMasterKeys = () => stored.openMasterKeys();
  const readNames = createReadNames({ http, memory });
  const identities = createIdentities({
    http,
    openKeyring: () => stored.openKeyring(),
    readNames,
  });
  const author = createAuthor({ identities, readNames, now });
  const envelopes: Envelopes = {
    ...stored,
    async createMasterKey() {
      const masterKey = await stored.createMasterKey();
      await identities.create(masterKey);
      return masterKey;
    },
  };
  const account = { http, retry, envelopes, passwordKey: held, email };
  const listedDevices = createDevices({ http, envelopes, proofs, deviceId });
  const devices = rememberDevices(listedDevices, memory);
  return {
    ...createSharing({ http, documents, memory, identities, author, openMasterKeys }),
    ...createBlockedSenders({ http }),
    http,
    uploads,
    documents,
    memory,
    proofs,
    envelopes,
    uploadFile: (options) => uploadFile({ uploads, createHash }, options),
    storeDocument: (options) => storeDocument({ uploads, documents, memory, createHash }, options),
    async certifyDocument(id, options) {
      const owned = { id, ...(await openMasterKeys()) };
      const dependencies = { documents, memory, author, proofs, trustedKeys };
      return certifyDocument(dependencies, owned, options);
    },
    async deleteDocument(id) {
      const owned = { id, ...(await openMasterKeys()) };
      await deleteDocument({ documents, memory, author }, owned);
    },
    async disclose(id, options) {
      const owned = { id, ...(await openMasterKeys()) };
      return disclose({ http, documents, memory, proofs, trustedKeys, createHash }, owned, options);
    },
    listRestores: () => listRestores({ proofs, trustedKeys, memory }),
    syncEvents: (options) => syncEvents({ http, retry }, options),
    sync: (options) => openSync({ http, memory, ...options }),
    listSessions: (options) => sessions.list(options),
    revokeSession: (id) => sessions.revoke(id),
    async logout() {
      if (memory.isOpen() && devices.current() !== undefined) await tellOthers(memory);
      await sessions.logout();
      held.forget();
    },
    reauthenticate: (password) => reauthenticate({ http, retry }, { email, password }),
    devices,
    recovery: createRecovery(account),
    mfa: createMfa({ http, retry, email }),
    changePassword: (change) => changePassword(account, change),
    draftRekey: (options) =>
      draftRekey(
        {
          ...account,
          devices: listedDevices,
          identities,
          readNames,
          lookAtKeys,
          documents,
          memory,
          records,
        },
        options,
      ),
    jobs: createJobs({ http, retry }),
    replacedKeys: createReplacedKeys({ http }),
    async closeAccount(password) {
      await closeAccount({ http, retry, tokens }, { email, password });
      held.forget();
    },
  };
}

/** Returns the documents, with each removal by the user remembered. */
function rememberRemovals(documents: Documents, memory: Memory): Documents {
  return {
    ...documents,
    async delete(id, statement) {
      await documents.delete(id, statement);
      await memory.removedDocument(id);
    },
  };
}

/** Returns the devices, with what the user does to them remembered and told to the others. */
function rememberDevices(devices: Devices, memory: Memory): Devices {
  return {
    ...devices,
    async add(device) {
      await devices.add(device);
      await memory.registeredDevice(device.deviceId);
    },
    async revoke(deviceId, options) {
      await devices.revoke(deviceId, options);
      if (devices.current() === deviceId.toLowerCase()) return;
      await memory.revokedDevice(deviceId);
      await tellOthers(memory);
    },
  };
}

/**
 * Tells the user's other devices what this one has seen. What cannot be told now is told the next
 * time, if a store remembers it.
 */
async function tellOthers(memory: Memory): Promise<void> {
  try {
    await memory.exchange();
  } catch (error) {
    if (!(error instanceof ClientError) && !(error instanceof VaultError)) throw error;
  }
}
