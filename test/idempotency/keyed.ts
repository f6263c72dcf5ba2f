import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { documentAt } from '../support/documents/documents.ts';
import type { Answer, Api } from '../support/documents/uploads.ts';
import { bytesOf, fileOf, upload } from '../support/documents/files.ts';

/** Returns a function that sends the same request under the key each time. */
export function underKey(api: Api, path: string, json: unknown, key = randomUUID() as string) {
  return (): Promise<Answer> =>
    api.send('POST', path, { json, headers: { 'idempotency-key': key } });
}

/** Returns a request that succeeds once for each path that accepts keys. */
export async function keyedRequests(
  t: ExecutionContext,
  api: Api,
): Promise<Record<string, unknown>> {
  const [one, other] = [await upload(t, api, bytesOf(9)), await upload(t, api, bytesOf(9))];
  return {
    '/v1/uploads': fileOf(10),
    '/v1/documents': documentAt(one.fileKey),
    '/api/v1/documents': documentAt(other.fileKey),
  };
}

export const isReplay = ({ headers }: Answer) => headers.get('idempotency-replayed') === 'true';
