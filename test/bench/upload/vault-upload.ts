import { randomBytes, randomUUID } from 'node:crypto';
import type { VaultSession } from '../../../client/session.ts';
import type { Child } from '../../support/processes/child.ts';
import { partBytes } from './part-bytes.ts';
import type { Shipment } from './sender.ts';

export type Sender = Child<Shipment, number>;

export interface VaultTarget {
  readonly baseUrl: string;
  readonly session: VaultSession;
  readonly accessToken: string;
}

/**
 * Opens an upload session and sends all its parts. Resolves with the session's id and the
 * milliseconds until the last part's response.
 */
export async function sendToVault(
  sender: Sender,
  { baseUrl, session, accessToken }: VaultTarget,
  { parts, concurrency }: { readonly parts: number; readonly concurrency: number },
): Promise<{ readonly sessionId: string; readonly ms: number }> {
  const { sessionId } = await session.uploads.create({
    fileName: 'random.bin',
    fileSize: parts * partBytes,
    mimeType: 'application/octet-stream',
    totalParts: parts,
  });
  const headers = {
    authorization: `Bearer ${accessToken}`,
    'content-type': 'application/octet-stream',
  };
  const deliveries = Array.from({ length: parts }, (_, index) => ({
    method: 'PUT' as const,
    url: `${baseUrl}/v1/uploads/${sessionId}/parts/${index + 1}`,
    headers,
    copies: 1,
  }));
  return { sessionId, ms: await sender.ask({ deliveries, concurrency }) };
}

/**
 * Resolves with the milliseconds of the completion, and those from its response until the server
 * knows the file's hash.
 */
export async function finishUpload(
  { session: { uploads, documents } }: VaultTarget,
  sessionId: string,
): Promise<{ readonly completeMs: number; readonly hashMs: number }> {
  const startedAt = performance.now();
  const storagePath = await uploads.complete(sessionId);
  const completedAt = performance.now();
  const encryptedMetadata = randomBytes(64).toString('base64');
  const id = randomUUID();
  await documents.create({ id, encryptedMetadata, keywordDeterministic: [], storagePath });
  return { completeMs: completedAt - startedAt, hashMs: performance.now() - completedAt };
}
