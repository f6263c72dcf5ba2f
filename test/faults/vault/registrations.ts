import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

const paceMs = 20;

/** Registers new e-mail addresses until `stop` aborts; resolves with those the server accepted. */
export async function registerSteadily(
  fetch: typeof globalThis.fetch,
  baseUrl: string,
  stop: AbortSignal,
): Promise<string[]> {
  const accepted: string[] = [];
  while (!stop.aborted) {
    const email = `${randomUUID()}@vault.test`;
    const body = {
      email,
      salt: randomBytes(32).toString('hex'),
      verifier: randomBytes(380).toString('hex'),
    };
    const answer = await fetch(`${baseUrl}/v1/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok === true) accepted.push(email);
    await delay(paceMs);
  }
  return accepted;
}
