import { hexToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import type { Http } from '../http/http.ts';
import { startSrpLogin, type SrpProof } from '../srp/login.ts';
import { normalizeEmail } from './email.ts';
import type { LoginMethod } from './login-method.ts';
import { derivePasswordKey } from './password.ts';

const Challenge = z.object({
  sessionId: z.uuid(),
  salt: z
    .string()
    .regex(/^(?:[0-9a-f]{2}){16,64}$/i)
    .transform(hexToBytes),
  B: z.string().regex(/^[0-9a-f]{1,768}$/i),
});
type Challenge = z.output<typeof Challenge>;

/** The account to log in to, and the method. */
export interface LoginName {
  readonly email: string;
  readonly method: LoginMethod;
}

export interface LoginProof extends Pick<SrpProof, 'verifyServer'> {
  /** Body of the request that verifies the login proof. The vault accepts it once, within 120 s. */
  readonly evidence: { readonly sessionId: string; readonly A: string; readonly M1: string };
  /** The account's salt for this method. */
  readonly salt: Bytes;
}

/**
 * Requests an SRP challenge and computes the login proof for it; the secret never leaves the
 * client. Throws VaultError user_not_found, and ClientError invalid_public_value.
 */
export async function proveLogin(
  http: Http,
  { secret, ...name }: LoginName & { readonly secret: string },
): Promise<LoginProof> {
  const srp = startSrpLogin();
  const { sessionId, salt, B } = await challenge(http, name, srp.A);
  const authKey = await derivePasswordKey(secret, salt, name.method.authLabel);
  const { M1, verifyServer } = srp.prove({ salt, B, authKey });
  wipe(authKey);
  return { evidence: { sessionId, A: srp.A, M1 }, salt, verifyServer };
}

/**
 * Resolves with the account's salt for a method. This call needs no secret and does not count as a
 * login attempt. Throws VaultError user_not_found.
 */
export async function findSalt(http: Http, name: LoginName): Promise<Bytes> {
  return (await challenge(http, name, startSrpLogin().A)).salt;
}

function challenge(http: Http, { email, method }: LoginName, A: string): Promise<Challenge> {
  const byMethod = method.name === 'password' ? {} : { method: method.name };
  return http.json(Challenge, {
    method: 'POST',
    path: '/v1/auth/login/challenge',
    json: { email: normalizeEmail(email), A, ...byMethod },
  });
}
