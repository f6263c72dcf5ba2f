import { createAccounts } from './accounts.ts';
import type { Accounts, Credentials } from './accounts.ts';
import { createFileHash } from './file-hash.ts';
import type { CreateFileHash } from './file-hash.ts';
import { createHttp } from './http.ts';
import { createProofs } from './proofs.ts';
import type { AuditKey } from './proofs.ts';
import { DEFAULT_RETRY } from './retry.ts';
import type { RetryPolicy } from './retry.ts';
import { createSession } from './session.ts';
import type { VaultSession } from './session.ts';
import { createSessionHttp } from './session-http.ts';
import { createSessionTokens } from './session-tokens.ts';

export interface VaultClientOptions {
  /** Such as https://vault.example, with or without a path. */
  readonly baseUrl: string;
  readonly fetch?: typeof globalThis.fetch;
  readonly retry?: RetryPolicy;
  /** By default WebAssembly; `client/node/file-hash.ts` is faster in Node. */
  readonly createFileHash?: CreateFileHash;
  readonly now?: () => Date;
}

export interface VaultClient extends Pick<Accounts, 'register' | 'validateEmail'> {
  /** Throws as `Accounts.login` does. */
  login(credentials: Credentials): Promise<VaultSession>;
  /** The vault's registry of keys, for those who verify proofs without an account. */
  auditKeys(): Promise<AuditKey[]>;
}

export function createVaultClient(options: VaultClientOptions): VaultClient {
  const { baseUrl, fetch = globalThis.fetch.bind(globalThis), retry = DEFAULT_RETRY } = options;
  const now = options.now ?? (() => new Date());
  const http = createHttp({ baseUrl, fetch, retry, now });
  const accounts = createAccounts({ http });

  return {
    register: (credentials) => accounts.register(credentials),
    auditKeys: () => createProofs({ http }).keys(),
    validateEmail: (token) => accounts.validateEmail(token),
    async login(credentials) {
      const { pair, passwordKey } = await accounts.login(credentials);
      const tokens = createSessionTokens({ http, pair, now });
      return createSession({
        http: createSessionHttp({ http, tokens }),
        tokens,
        email: credentials.email,
        passwordKey,
        createFileHash: options.createFileHash ?? createFileHash,
      });
    },
  };
}
