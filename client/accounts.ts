import { z } from 'zod';
import type { Bytes } from './bytes.ts';
import { normalizeEmail } from './email.ts';
import { parseAnswer } from './http.ts';
import type { Http } from './http.ts';
import { derivePasswordKey, MASTER_ENVELOPE_LABEL } from './password.ts';
import { provePassword } from './password-proof.ts';
import { createRegistration } from './registration.ts';
import { TokenPair } from './session-tokens.ts';

const ServerProof = z.object({ M2: z.string().regex(/^[0-9a-f]{64}$/i) });

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

export interface Login {
  readonly pair: TokenPair;
  /** K_password, which wraps the master key. */
  readonly passwordKey: Bytes;
}

export interface Accounts {
  /** Show the fingerprint: the validation mail must show the same before its token is used. */
  register(credentials: Credentials): Promise<{ fingerprint: string }>;
  /** Succeeds whether or not the token is good. */
  validateEmail(token: string): Promise<void>;
  /**
   * Throws VaultError user_not_found, invalid_proof (wrong password) or srp_session_expired, and
   * ClientError server_proof_invalid if the server does not know the verifier.
   */
  login(credentials: Credentials): Promise<Login>;
}

export function createAccounts({ http }: { http: Http }): Accounts {
  const post = (path: string, json: unknown) => http.send({ method: 'POST', path, json });

  return {
    async register({ email, password }) {
      const { salt, verifier, fingerprint } = await createRegistration(password);
      await post('/v1/auth/register', { email: normalizeEmail(email), salt, verifier });
      return { fingerprint };
    },

    async validateEmail(token) {
      await post('/v1/auth/validate-email', { token });
    },

    async login(credentials) {
      const { evidence, salt, verifyServer } = await provePassword(http, credentials);
      const { body } = await post('/v1/auth/login/verify', evidence);
      verifyServer(parseAnswer(ServerProof, body).M2);
      return {
        pair: parseAnswer(TokenPair, body),
        passwordKey: await derivePasswordKey(credentials.password, salt, MASTER_ENVELOPE_LABEL),
      };
    },
  };
}
