import type { ExecutionContext } from 'ava';
import type { Answer, Api } from '../uploads/api.ts';
import { bytesOf, upload } from '../uploads/files.ts';

export const metadata = Buffer.from('metadata that only the client can read').toString('base64');

export function documentAt(storagePath: string) {
  return { encryptedMetadata: metadata, keywordDeterministic: [] as string[], storagePath };
}

export const createDocument = (api: Api, storagePath: string): Promise<Answer> =>
  api.send('POST', '/v1/documents', { json: documentAt(storagePath) });

export interface Stored {
  readonly id: string;
  readonly fileKey: string;
  readonly fileHash: string;
}

/** A PENDING document of random bytes. */
export async function storeDocument(
  t: ExecutionContext,
  api: Api,
  bytes = bytesOf(100),
): Promise<Stored> {
  const { fileKey } = await upload(t, api, bytes);
  const { status, body } = await createDocument(api, fileKey);
  t.is(status, 201, JSON.stringify(body));
  return { id: String(body.id), fileKey, fileHash: String(body.fileHash) };
}

export const certify = (api: Api, id: string): Promise<Answer> =>
  api.send('POST', `/v1/documents/${id}/certify`);
