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

/** The response to a login with recovery words. Its token cannot be refreshed. */
const RecoveryToken = z.object({ accessToken: z.string() });

export interface Credentials {
  /** The e-mail address; the client trims it and makes it lower case. */
  readonly email: string;
  /** The password as typed; `derivePasswordKey` normalises it to NFKC. */
  readonly password: string;
}

export interface LoginOptions extends Credentials {
  /**
   * Id of the device to bind the login session to; register the device with `Devices.add` first.
   */
  readonly deviceId?: string | undefined;
}

export interface Login {
  readonly pair: TokenPair;
  /** K_password, 32 bytes: the key that wraps the master key. */
  readonly passwordKey: Bytes;
}

/**
 * The result of a login with recovery words, which allows the client to read the recovery envelope
 * and to set a password.
 */
export interface RecoveryLogin {
  /** The access token of the recovery, valid for ten minutes. */
  readonly accessToken: string;
  /** K_recovery, 32 bytes: the key that wraps the master key in the recovery envelope. */
  readonly wordsKey: Bytes;
}

export interface Accounts {
  /**
   * Registers an account; the vault then sends a validation mail. Resolves with the fingerprint of
   * salt and verifier, 8 hex digits. Show the fingerprint to the user: the token in the mail must
   * be used only if the mail shows the same fingerprint. Throws TypeError for a password that
   * `derivePasswordKey` refuses.
   */
  register(credentials: Credentials): Promise<{ readonly fingerprint: string }>;
  /**
   * Validates the account with the token from the mail. Resolves whether or not the token is valid.
   */
  validateEmail(token: string): Promise<void>;
  /**
   * Logs in with the password by SRP-6a, which also proves that the server knows the verifier.
   * Throws VaultError user_not_found, invalid_proof (wrong password), rate_limited or
   * srp_session_expired; device_unknown or device_blacklisted if `deviceId` is given; and
   * ClientError server_proof_invalid if the server does not know the verifier.
   */
  login(options: LoginOptions): Promise<Login>;
  /**
   * Logs in with recovery words, in the form that `parseRecoveryWords` returns. Throws what `login`
   * throws; user_not_found also if the account has no recovery words, and invalid_proof if `words`
   * are not its recovery words.
   */
  recover(name: { readonly email: string; readonly words: string }): Promise<RecoveryLogin>;
}

export function createAccounts({
  http,
  retry,
}: {
  readonly http: Http;
  readonly retry: RetryPolicy;
}): Accounts {
  async function loginOnce<T>(
    answer: z.ZodType<T>,
    {
      secret,
      deviceId,
      ...name
    }: LoginName & { readonly secret: string; readonly deviceId?: string | undefined },
  ): Promise<{ readonly tokens: T; readonly envelopeKey: Bytes }> {
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

  /**
   * Logs in. Each retry starts with a new challenge, because the vault accepts a login proof only
   * once. A login session whose response was lost stays unused, and expires.
   */
  const logIn: typeof loginOnce = (answer, name) =>
    withRetries(retry, undefined, () => loginOnce(answer, name));

  return {
    async register({ email, password }) {
      const { salt, verifier, fingerprint } = await createRegistration(password);
      const json = { email: normalizeEmail(email), salt, verifier };
      // Retrying is safe: a second validation mail shows the same fingerprint.
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
