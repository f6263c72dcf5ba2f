import { z } from 'zod';
import { hexToBytes } from '@noble/hashes/utils.js';
import { createHttp } from '../../../client/http/http.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { derivePasswordKey, srpAuthLabel } from '../../../client/login/password.ts';
import { startSrpLogin } from '../../../client/srp/login.ts';

const Challenge = z.object({ sessionId: z.string(), salt: z.string(), B: z.string() });
const LoggedIn = z.object({ accessToken: z.string(), M2: z.string() });

/**
 * Returns a function that logs the account in and resolves with an access token. The password's key
 * is derived once, so that a load can log in often. It throws what the client throws, without
 * retries.
 * @param fetch Sends the requests in place of the global fetch.
 */
export function createRepeatedLogin(
  baseUrl: string,
  { email, password }: { readonly email: string; readonly password: string },
  fetch = globalThis.fetch,
): () => Promise<string> {
  const http = createHttp({
    baseUrl,
    fetch,
    retry: { ...defaultRetry, attempts: 1 },
    now: () => new Date(),
  });
  let authKey: ReturnType<typeof derivePasswordKey> | undefined;

  return async () => {
    const srp = startSrpLogin();
    const path = '/v1/auth/login';
    const { sessionId, salt, B } = await http.json(Challenge, {
      method: 'POST',
      path: `${path}/challenge`,
      json: { email, A: srp.A },
    });
    authKey ??= derivePasswordKey(password, hexToBytes(salt), srpAuthLabel);
    const proof = srp.prove({ salt: hexToBytes(salt), B, authKey: await authKey });
    const { accessToken, M2 } = await http.json(LoggedIn, {
      method: 'POST',
      path: `${path}/verify`,
      json: { sessionId, A: srp.A, M1: proof.M1 },
    });
    proof.verifyServer(M2);
    return accessToken;
  };
}
