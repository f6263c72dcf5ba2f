import { z } from 'zod';
import { until } from '../../../app/dev/processes/until.ts';
import { createHttp, type Http } from '../../../client/http/http.ts';
import { defaultRetry, isPassing } from '../../../client/http/retry.ts';
import { VaultError } from '../../../client/errors/vault-error.ts';
import type { ReplicatedVault } from '../vault/replicated-vault.ts';

const Key = z.object({ keyId: z.string() });
const path = '/v1/internal/keys';

/** Rotates the audit key, retrying each step until it succeeds. */
export async function rotateAuditKey(
  { baseUrl, internalKey }: Pick<ReplicatedVault, 'baseUrl' | 'internalKey'>,
  fetch: typeof globalThis.fetch,
): Promise<void> {
  const retry = { ...defaultRetry, attempts: 1 };
  const http = createHttp({ baseUrl, fetch, retry, now: () => new Date() });
  const headers = { 'x-internal-api-key': internalKey };
  const create = () =>
    http.json(Key, { method: 'POST', path, headers, json: { purpose: 'audit' } });
  // A key whose response is lost stays unused.
  const { keyId } = await insist('the next audit key', create);
  await insist('its activation', () => activate(http, keyId, headers));
}

async function activate(http: Http, keyId: string, headers: Record<string, string>): Promise<true> {
  await http.send({ method: 'POST', path: `${path}/${keyId}/activate`, headers });
  return true;
}

function insist<T>(what: string, work: () => Promise<T>): Promise<T> {
  const attempt = async (): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      const isEarly = error instanceof VaultError && error.code === 'key_not_published';
      if (isEarly || isPassing(error)) return undefined;
      throw error;
    }
  };
  return until(attempt, { what, timeoutMs: 120_000, intervalMs: 100 });
}
