import { createHash, randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { Answer, Api, SendOptions } from './uploads.ts';

export const MiB = 2 ** 20;
/** The smallest size of a part that is not the last. */
export const minPart = 5 * MiB;

export interface FileToUpload {
  readonly fileName: string;
  readonly fileSize: number;
  readonly mimeType: string;
  readonly totalParts: number;
}

export function fileOf(fileSize: number, totalParts = 1): FileToUpload {
  return { fileName: 'evidence.bin', fileSize, mimeType: 'application/octet-stream', totalParts };
}

export function bytesOf(length: number): Buffer<ArrayBuffer> {
  return randomBytes(length);
}

export const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64');
export const sha3 = (bytes: Uint8Array) => createHash('sha3-256').update(bytes).digest('hex');

/** Opens an upload session and returns its id. */
export async function openSession(
  t: ExecutionContext,
  api: Api,
  fileSize: number,
  totalParts = 1,
): Promise<string> {
  const { status, body } = await api.send('POST', '/v1/uploads', {
    json: fileOf(fileSize, totalParts),
  });
  t.is(status, 201, JSON.stringify(body));
  return String(body.sessionId);
}

export function putPart(
  api: Api,
  sessionId: string,
  partNumber: number | string,
  bytes: Uint8Array<ArrayBuffer>,
  headers: SendOptions['headers'] = {},
): Promise<Answer> {
  return api.send('PUT', `/v1/uploads/${sessionId}/parts/${partNumber}`, { bytes, headers });
}

export const complete = (api: Api, sessionId: string) =>
  api.send('POST', `/v1/uploads/${sessionId}/complete`);
export const abort = (api: Api, sessionId: string) =>
  api.send('DELETE', `/v1/uploads/${sessionId}`);
export const progress = (api: Api, sessionId: string) =>
  api.send('GET', `/v1/uploads/${sessionId}`);

export interface Uploaded {
  readonly sessionId: string;
  readonly fileKey: string;
}

/** Completes an upload of one part. */
export async function upload(
  t: ExecutionContext,
  api: Api,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uploaded> {
  const sessionId = await openSession(t, api, bytes.length);
  const part = await putPart(api, sessionId, 1, bytes);
  t.is(part.status, 200, JSON.stringify(part.body));
  const { status, body } = await complete(api, sessionId);
  t.is(status, 200, JSON.stringify(body));
  return { sessionId, fileKey: String(body.fileKey) };
}

/** Counts the responses by status, such as `{ 200: 1, 409: 49 }`. */
export function countStatuses(
  answers: readonly { readonly status: number }[],
): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
