import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { until } from '../../../app/dev/processes/until.ts';
import { createHttp } from '../../../client/http/http.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { startSrpLogin } from '../../../client/srp/login.ts';
import { VaultError } from '../../../client/errors/vault-error.ts';
import { inventAccount } from '../../support/accounts/test-account.ts';
import { readMails } from '../../support/accounts/mailbox.ts';
import { persist } from './steady-work.ts';
import type { VaultProcesses } from '../../support/processes/vault-processes.ts';

const Challenge = z.object({ sessionId: z.string(), B: z.string() });
const LoggedIn = z.object({ accessToken: z.string() });
/** Longer than the lease of a message that a killed app was sending. */
const mailLimitMs = 90_000;

/** A user in their first login session. */
export interface Newcomer {
  /** Stores a master envelope, retrying until it succeeds. */
  createEnvelope(): Promise<void>;
}

/**
 * Creates an account and logs it in. Its keys do not come from a password, which saves the Argon2
 * cost.
 */
export async function logInNewcomer(
  { baseUrl, mailDirectory }: VaultProcesses,
  fetch: typeof globalThis.fetch,
): Promise<Newcomer> {
  const http = createHttp({ baseUrl, fetch, retry: defaultRetry, now: () => new Date() });
  const post = (path: string, json: unknown) =>
    http.send({ method: 'POST', path, repeatable: true, json });
  const { email, salt, authKey, saltHex, verifierHex } = inventAccount(
    `${randomUUID()}@vault.test`,
  );
  await post('/v1/auth/register', { email, salt: saltHex, verifier: verifierHex });
  const { token } = await until(
    async () => (await readMails(mailDirectory)).find(({ to }) => to === email),
    { what: `an e-mail to ${email}`, timeoutMs: mailLimitMs, intervalMs: 50 },
  );
  await post('/v1/auth/validate-email', { token });
  const { accessToken } = await persist(async () => {
    const srp = startSrpLogin();
    const path = '/v1/auth/login';
    const json = { email, A: srp.A };
    const challenge = { method: 'POST', path: `${path}/challenge`, json } as const;
    const { sessionId, B } = await http.json(Challenge, challenge);
    const { M1 } = srp.prove({ salt, B, authKey });
    const evidence = { sessionId, A: srp.A, M1 };
    return http.json(LoggedIn, { method: 'POST', path: `${path}/verify`, json: evidence });
  });

  const headers = { authorization: `Bearer ${accessToken}` };
  const encryptedEnvelope = randomBytes(40).toString('base64');
  return {
    async createEnvelope() {
      const path = '/v1/crypto/keys/master-envelope';
      const json = { encryptedEnvelope };
      const request = { method: 'POST', path, headers, json } as const;
      await persist(() => http.send(request)).catch(forgiveSecond);
    },
  };
}

/** Ignores envelope_exists: an earlier try succeeded and its response was lost. */
function forgiveSecond(error: unknown): void {
  if (!(error instanceof VaultError && error.code === 'envelope_exists')) throw error;
}
