import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { documentAt } from '../support/documents/documents.ts';
import type { Answer, Api } from '../support/documents/uploads.ts';
import { bytesOf, fileOf, upload } from '../support/documents/files.ts';

/** Sends the same request under the key as often as it is called. */
export function underKey(api: Api, path: string, json: unknown, key = randomUUID() as string) {
  return (): Promise<Answer> =>
    api.send('POST', path, { json, headers: { 'idempotency-key': key } });
}

/** A request for each path that takes keys, which can be done once. */
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
