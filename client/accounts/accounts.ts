import { z } from 'zod';
import type { Bytes } from '../bytes/bytes.ts';
import { parseAnswer, type Http } from '../http/http.ts';
import { withRetries, type RetryPolicy } from '../http/retry.ts';
import { normalizeEmail } from '../login/email.ts';
import { passwordMethod, recoveryWords } from '../login/login-method.ts';
import { proveLogin, type LoginName } from '../login/login-proof.ts';
import { derivePasswordKey } from '../login/password.ts';
import { TokenPair } from '../sessions/tokens.ts';
import { createRegistration } from './registration.ts';

const ServerProof = z.object({ M2: z.string().regex(/^[0-9a-f]{64}$/i) });

/** The answer to a login by the recovery words, which is not refreshed. */
const RecoveryToken = z.object({ accessToken: z.string() });

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

export interface LoginOptions extends Credentials {
  /** The device that the session is for, from `devices.add`. */
  readonly deviceId?: string | undefined;
}

export interface Login {
  readonly pair: TokenPair;
  /** K_password, which wraps the master key. */
  readonly passwordKey: Bytes;
}

/** Good for ten minutes, to read the recovery envelope and to set new credentials. */
export interface RecoveryLogin {
  readonly accessToken: string;
  /** K_recovery, which wraps the master key. */
  readonly wordsKey: Bytes;
}

export interface Accounts {
  /** Show the fingerprint: the validation mail must show the same before its token is used. */
  register(credentials: Credentials): Promise<{ fingerprint: string }>;
  /** Succeeds whether or not the token is good. */
  validateEmail(token: string): Promise<void>;
  /**
   * Throws VaultError user_not_found, invalid_proof (wrong password), rate_limited or
   * srp_session_expired, device_unknown or device_blacklisted where it names a device, and ClientError
   * server_proof_invalid if the server does not know the verifier.
   */
  login(options: LoginOptions): Promise<Login>;
  /**
   * By what `parseRecoveryWords` makes of the words. Throws as `login` does: user_not_found also for an
   * account without recovery, invalid_proof for other words.
   */
  recover(name: { email: string; words: string }): Promise<RecoveryLogin>;
}

export function createAccounts({ http, retry }: { http: Http; retry: RetryPolicy }): Accounts {
  async function loginOnce<T>(
    answer: z.ZodType<T>,
    { secret, deviceId, ...name }: LoginName & { secret: string; deviceId?: string | undefined },
  ): Promise<{ tokens: T; envelopeKey: Bytes }> {
    const { evidence, salt, verifyServer } = await proveLogin(http, { ...name, secret });
    const path = '/v1/auth/login/verify';
    const json = deviceId === undefined ? evidence : { ...evidence, deviceId };
    const { body } = await http.send({ method: 'POST', path, json });
    verifyServer(parseAnswer(ServerProof, body).M2);
    const tokens = parseAnswer(answer, body);
    return {
      tokens,
      envelopeKey: await derivePasswordKey(secret, salt, name.method.envelopeLabel),
    };
  }

  /** From its challenge on, since a proof serves one attempt; a login that nobody has does no harm. */
  const logIn: typeof loginOnce = (answer, name) =>
    withRetries(retry, undefined, () => loginOnce(answer, name));

  return {
    async register({ email, password }) {
      const { salt, verifier, fingerprint } = await createRegistration(password);
      const json = { email: normalizeEmail(email), salt, verifier };
      // A second mail shows the same fingerprint.
      await http.send({ method: 'POST', path: '/v1/auth/register', repeatable: true, json });
      return { fingerprint };
    },

    async validateEmail(token) {
      const path = '/v1/auth/validate-email';
      await http.send({ method: 'POST', path, repeatable: true, json: { token } });
    },

    async login({ email, password, deviceId }) {
      const name = { email, method: passwordMethod, secret: password, deviceId };
      const { tokens, envelopeKey } = await logIn(TokenPair, name);
      return { pair: tokens, passwordKey: envelopeKey };
    },

    async recover({ email, words }) {
      const name = { email, method: recoveryWords, secret: words };
      const { tokens, envelopeKey } = await logIn(RecoveryToken, name);
      return { accessToken: tokens.accessToken, wordsKey: envelopeKey };
    },
  };
}
