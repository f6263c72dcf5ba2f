import type { ExecutionContext } from 'ava';
import type { Answer, Api } from './uploads.ts';
import { bytesOf, upload } from './files.ts';

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

/** Stores a PENDING document of random bytes. */
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

export const getDocument = (api: Api, id: string): Promise<Answer> =>
  api.send('GET', `/v1/documents/${id}`);

/** Returns the current ETag of a document. */
export async function etagOf(api: Api, id: string): Promise<string> {
  return (await getDocument(api, id)).headers.get('etag') ?? '';
}

export const removeDocument = (
  api: Api,
  id: string,
  headers: Record<string, string> = {},
): Promise<Answer> => api.send('DELETE', `/v1/documents/${id}`, { headers });

export const addVersion = (
  api: Api,
  id: string,
  storagePath: string,
  own: { readonly encryptedMetadata?: string } = {},
): Promise<Answer> =>
  api.send('POST', `/v1/documents/${id}/versions`, { json: { storagePath, ...own } });

/** Adds a version of random bytes to a document. */
export async function storeVersion(
  t: ExecutionContext,
  api: Api,
  id: string,
  bytes = bytesOf(100),
): Promise<{ readonly fileKey: string; readonly body: Answer['body'] }> {
  const { fileKey } = await upload(t, api, bytes);
  const { status, body } = await addVersion(api, id, fileKey);
  t.is(status, 201, JSON.stringify(body));
  return { fileKey, body };
}

/** A version as lists return it. */
export interface VersionItem {
  readonly documentId: string;
  readonly version: number;
  readonly encryptedMetadata: string;
  readonly fileHash: string;
  readonly status: string;
  readonly createdAt: string;
}

/** Returns all versions, newest first. */
export async function listVersions(api: Api, id: string): Promise<VersionItem[]> {
  const { body } = await api.send('GET', `/v1/documents/${id}/versions?limit=1000`);
  return body as unknown as VersionItem[];
}

export const replaceMetadata = (
  api: Api,
  id: string,
  json: { readonly encryptedMetadata: string; readonly keywordDeterministic?: string[] },
  headers: Record<string, string>,
): Promise<Answer> => api.send('PUT', `/v1/documents/${id}/metadata`, { json, headers });

/** Returns a text as base64, in place of encrypted metadata. */
export const metadataOf = (text: string): string => Buffer.from(text).toString('base64');
