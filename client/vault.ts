import { createAccounts, type Accounts, type LoginOptions } from './accounts/accounts.ts';
import { createWasmHash, type CreateHash } from './crypto/hash.ts';
import { createHttp } from './http/http.ts';
import type { AuditKey } from './proofs/audit-key.ts';
import type { MemoryStore } from './memory/storage/memory-store.ts';
import { createProofs } from './proofs/proofs.ts';
import { createTrustedKeys } from './proofs/trusted-keys.ts';
import { recoverAccount, type RecoverAccount } from './recovery/recover-account.ts';
import type { RekeyDraft } from './rekey/rekey.ts';
import { defaultRetry, type RetryPolicy } from './http/retry.ts';
import { createSession, type VaultSession } from './session.ts';
import { createSessionHttp } from './sessions/session-http.ts';
import { createSessionTokens } from './sessions/tokens.ts';

export interface VaultClientOptions {
  /**
   * Base URL of the vault, such as https://vault.example; it may contain a path. http is accepted
   * only with a loopback address or localhost.
   */
  readonly baseUrl: string;
  /** The default is the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** The default is `defaultRetry`. */
  readonly retry?: RetryPolicy;
  /**
   * Creates SHA3-256 and SHA-256 hashes of files. The default runs in WebAssembly;
   * `client/node/hash.ts` is faster in Node.
   */
  readonly createHash?: CreateHash;
  /**
   * Fingerprints of the vault's first audit keys, whole or their first 32 hex digits, which you
   * compared with published ones. By default, the first keys that the vault shows are trusted for
   * as long as this client exists or the memory of a session keeps them; `Seal.keyTrust` says so.
   */
  readonly trustedKeys?: readonly string[];
  /** The device's clock; the default is the system's. */
  readonly now?: () => Date;
}

export interface SessionOptions extends LoginOptions {
  /**
   * Keeps what this device has seen of the vault, so that a vault that shows an older state later
   * is found out; use one for each account. By default it is remembered until the session ends.
   */
  readonly memory?: MemoryStore;
}

export interface RecoverOptions extends RecoverAccount, Pick<SessionOptions, 'memory'> {
  /** Id of the device to bind the new login session to. */
  readonly deviceId?: string;
  /**
   * If given, a rekey follows the recovery. MUST show the user the new recovery words and the
   * devices of `draft`, and resolve with the words as the user typed them.
   */
  readonly rehearse?: (draft: RekeyDraft) => Promise<string>;
}

/**
 * The calls that need no login. Every method also throws what `Http` throws: VaultError, and
 * ClientError network_error or invalid_response.
 */
export interface VaultClient extends Pick<Accounts, 'register' | 'validateEmail'> {
  /** Logs in and resolves with a session. Throws what `Accounts.login` throws. */
  login(options: SessionOptions): Promise<VaultSession>;
  /**
   * Sets a new password with the recovery words and logs in. With `rehearse`, a rekey follows, for
   * which `rehearse` asks the user for confirmation. Throws what `recoverAccount` and
   * `RekeyDraft.confirm` throw; if the rekey fails, the new password is set nevertheless.
   */
  recover(options: RecoverOptions): Promise<VaultSession>;
  /**
   * Resolves with the vault's registry of keys, for anyone who verifies audit proofs without an
   * account; see `Proofs.keys`.
   */
  auditKeys(): Promise<AuditKey[]>;
}

/**
 * Creates a client of one vault, which sends nothing until a method is called. Throws TypeError for
 * an invalid base URL, and for http to another machine.
 */
export function createVaultClient(options: VaultClientOptions): VaultClient {
  const { baseUrl, fetch = globalThis.fetch.bind(globalThis), retry = defaultRetry } = options;
  const now = options.now ?? (() => new Date());
  const http = createHttp({ baseUrl, fetch, retry, now });
  const accounts = createAccounts({ http, retry });
  const listKeys = () => createProofs({ http }).keys();
  const trustedKeys = createTrustedKeys({ listKeys, pinned: options.trustedKeys, now });

  async function login({ memory, ...credentials }: SessionOptions): Promise<VaultSession> {
    const { pair, passwordKey } = await accounts.login(credentials);
    const tokens = createSessionTokens({ http, pair, retry, now });
    return createSession({
      http: createSessionHttp({ http, tokens }),
      retry,
      tokens,
      email: credentials.email,
      passwordKey,
      deviceId: credentials.deviceId,
      trustedKeys,
      memoryStore: memory,
      createHash: options.createHash ?? createWasmHash,
      now,
    });
  }

  return {
    register: (credentials) => accounts.register(credentials),
    auditKeys: listKeys,
    validateEmail: (token) => accounts.validateEmail(token),
    login,
    async recover({ deviceId, memory, rehearse, ...recovered }) {
      const { email, newPassword: password } = recovered;
      const logIn = () =>
        login({ email, password, deviceId, ...(memory !== undefined && { memory }) });
      const session = await recoverAccount({ http, accounts }, recovered, logIn);
      if (rehearse !== undefined) {
        const draft = await session.draftRekey({ password, keepPassword: true });
        await draft.confirm(await rehearse(draft));
      }
      return session;
    },
  };
}
