import { createAccounts, type Accounts, type LoginOptions } from './accounts/accounts.ts';
import { createFileHash, type CreateFileHash } from './files/hash.ts';
import { createHttp } from './http/http.ts';
import { createProofs, type AuditKey } from './proofs/proofs.ts';
import { recoverAccount, type RecoverAccount } from './recovery/recover-account.ts';
import type { RekeyDraft } from './rekey/rekey.ts';
import { defaultRetry, type RetryPolicy } from './http/retry.ts';
import { createSession, type VaultSession } from './session.ts';
import { createSessionHttp } from './sessions/session-http.ts';
import { createSessionTokens } from './sessions/tokens.ts';

export interface VaultClientOptions {
  /** Such as https://vault.example, with or without a path. */
  readonly baseUrl: string;
  readonly fetch?: typeof globalThis.fetch;
  readonly retry?: RetryPolicy;
  /** By default WebAssembly; `client/node/file-hash.ts` is faster in Node. */
  readonly createFileHash?: CreateFileHash;
  readonly now?: () => Date;
}

export interface RecoverOptions extends RecoverAccount {
  readonly deviceId?: string;
  /** Shows the user the new words and devices, and resolves to the words as they typed them. */
  readonly rehearse?: (draft: RekeyDraft) => Promise<string>;
}

export interface VaultClient extends Pick<Accounts, 'register' | 'validateEmail'> {
  /** Throws as `Accounts.login` does. */
  login(options: LoginOptions): Promise<VaultSession>;
  /**
   * For a forgotten password: sets a new one by the recovery words and logs in. With `rehearse` a new
   * master key follows, and `rehearse` gets what is to be confirmed. Throws as `recoverAccount` and
   * `RekeyDraft.confirm` do; where it is the latter, the new password holds.
   */
  recover(options: RecoverOptions): Promise<VaultSession>;
  /** The vault's registry of keys, for those who verify proofs without an account. */
  auditKeys(): Promise<AuditKey[]>;
}

/** Throws TypeError for a base URL that is none. */
export function createVaultClient(options: VaultClientOptions): VaultClient {
  const { baseUrl, fetch = globalThis.fetch.bind(globalThis), retry = defaultRetry } = options;
  const now = options.now ?? (() => new Date());
  const http = createHttp({ baseUrl, fetch, retry, now });
  const accounts = createAccounts({ http, retry });

  async function login(loginOptions: LoginOptions): Promise<VaultSession> {
    const { pair, passwordKey } = await accounts.login(loginOptions);
    const tokens = createSessionTokens({ http, pair, now });
    return createSession({
      http: createSessionHttp({ http, tokens }),
      retry,
      tokens,
      email: loginOptions.email,
      passwordKey,
      deviceId: loginOptions.deviceId,
      createFileHash: options.createFileHash ?? createFileHash,
    });
  }

  return {
    register: (credentials) => accounts.register(credentials),
    auditKeys: () => createProofs({ http }).keys(),
    validateEmail: (token) => accounts.validateEmail(token),
    login,
    async recover({ deviceId, rehearse, ...recovered }) {
      const { email, newPassword: password } = recovered;
      const logIn = () => login({ email, password, deviceId });
      const session = await recoverAccount({ http, accounts }, recovered, logIn);
      if (rehearse !== undefined) {
        const draft = await session.draftRekey({ password });
        await draft.confirm(await rehearse(draft));
      }
      return session;
    },
  };
}
