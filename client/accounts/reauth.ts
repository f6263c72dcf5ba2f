import { z } from 'zod';
import { parseAnswer, type Http } from '../http/http.ts';
import { withRetries, type RetryPolicy } from '../http/retry.ts';
import { passwordMethod } from '../login/login-method.ts';
import { proveLogin } from '../login/login-proof.ts';
import type { Credentials } from './accounts.ts';

const Reauthenticated = z.object({ reauthToken: z.string(), expiresAt: z.iso.datetime() });
const ServerProof = z.object({ M2: z.string().regex(/^[0-9a-f]{64}$/i) });
/** A reauthentication token, sent in the header X-Reauth-Token; valid for five minutes. */
export type Reauthenticated = z.output<typeof Reauthenticated>;

/**
 * Proves by SRP that the user of a login session knows the password, and resolves with a
 * reauthentication token; the vault proves in turn that it knows the verifier. Throws VaultError
 * invalid_proof (wrong password) or rate_limited, and ClientError server_proof_invalid.
 */
export function reauthenticate(
  { http, retry }: { readonly http: Http; readonly retry: RetryPolicy },
  { email, password }: Credentials,
): Promise<Reauthenticated> {
  // The vault accepts a login proof only once, so each retry begins with a new challenge.
  return withRetries(retry, undefined, async () => {
    const { evidence, verifyServer } = await proveLogin(http, {
      email,
      method: passwordMethod,
      secret: password,
    });
    const path = '/v1/auth/reauth';
    const { body } = await http.send({ method: 'POST', path, json: evidence });
    verifyServer(parseAnswer(ServerProof, body).M2);
    return parseAnswer(Reauthenticated, body);
  });
}
