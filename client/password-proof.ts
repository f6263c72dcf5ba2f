import { hexToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import type { Bytes } from './bytes.ts';
import { normalizeEmail } from './email.ts';
import type { Http } from './http.ts';
import { derivePasswordKey, SRP_AUTH_LABEL } from './password.ts';
import { startSrpLogin } from './srp-login.ts';
import type { SrpProof } from './srp-login.ts';

const Challenge = z.object({
  sessionId: z.uuid(),
  salt: z
    .string()
    .regex(/^(?:[0-9a-f]{2}){16,64}$/i)
    .transform(hexToBytes),
  B: z.string().regex(/^[0-9a-f]{1,768}$/i),
});

export interface PasswordProof extends Pick<SrpProof, 'verifyServer'> {
  /** What the vault is sent; it serves one attempt, within 120 s. */
  readonly evidence: { readonly sessionId: string; readonly A: string; readonly M1: string };
  /** The account's. */
  readonly salt: Bytes;
}

/** Answers a fresh challenge, so that the password never leaves here. Throws VaultError user_not_found. */
export async function provePassword(
  http: Http,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<PasswordProof> {
  const srp = startSrpLogin();
  const { sessionId, salt, B } = await http.json(Challenge, {
    method: 'POST',
    path: '/v1/auth/login/challenge',
    json: { email: normalizeEmail(email), A: srp.A },
  });
  const authKey = await derivePasswordKey(password, salt, SRP_AUTH_LABEL);
  const { M1, verifyServer } = srp.prove({ salt, B, authKey });
  return { evidence: { sessionId, A: srp.A, M1 }, salt, verifyServer };
}
