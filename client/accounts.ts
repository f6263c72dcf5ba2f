import { hexToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import type { Bytes } from './bytes.ts';
import { normalizeEmail } from './email.ts';
import { parseAnswer } from './http.ts';
import type { Http } from './http.ts';
import { derivePasswordKey, MASTER_ENVELOPE_LABEL, SRP_AUTH_LABEL } from './password.ts';
import { createRegistration } from './registration.ts';
import { startSrpLogin } from './srp-login.ts';

const Challenge = z.object({
  sessionId: z.uuid(),
  salt: z
    .string()
    .regex(/^(?:[0-9a-f]{2}){16,64}$/i)
    .transform(hexToBytes),
  B: z.string().regex(/^[0-9a-f]{1,768}$/i),
});

const AccessToken = z.object({ accessToken: z.string() });

const ServerProof = z.object({ M2: z.string().regex(/^[0-9a-f]{64}$/i) });

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

export interface Login {
  readonly accessToken: string;
  /** K_password, which wraps the master key. */
  readonly passwordKey: Bytes;
}

export interface Accounts {
  /** Show the fingerprint: the validation mail must show the same before its link is opened. */
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

    async login({ email, password }) {
      const srp = startSrpLogin();
      const challenge = parseAnswer(
        Challenge,
        (await post('/v1/auth/login/challenge', { email: normalizeEmail(email), A: srp.A })).body,
      );
      const { sessionId, salt, B } = challenge;
      const authKey = await derivePasswordKey(password, salt, SRP_AUTH_LABEL);
      const proof = srp.prove({ salt, B, authKey });
      const { body } = await post('/v1/auth/login/verify', {
        sessionId,
        A: srp.A,
        M1: proof.M1,
      });
      proof.verifyServer(parseAnswer(ServerProof, body).M2);
      return {
        accessToken: parseAnswer(AccessToken, body).accessToken,
        passwordKey: await derivePasswordKey(password, salt, MASTER_ENVELOPE_LABEL),
      };
    },
  };
}
