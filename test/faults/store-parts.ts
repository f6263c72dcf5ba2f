import { randomBytes } from 'node:crypto';
import { encodeBase64 } from '../../client/base64.ts';
import type { VaultSession } from '../../client/session.ts';
import { createTaskPool } from '../../client/task-pool.ts';

/** Uploads random bytes as they are, nothing encrypted, and makes them a document. */
export async function storeParts(
  { uploads, documents }: VaultSession,
  { parts, partBytes, concurrency }: { parts: number; partBytes: number; concurrency: number },
): Promise<void> {
  const bytes = new Uint8Array(randomBytes(partBytes));
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const { sessionId } = await uploads.create({
    fileName: 'random.bin',
    fileSize: parts * partBytes,
    mimeType: 'application/octet-stream',
    totalParts: parts,
  });
  const pool = createTaskPool(concurrency);
  for (let number = 1; number <= parts; number++) {
    await pool.start(() => uploads.putPart({ sessionId, number, bytes, sha256 }));
  }
  await pool.finish();
  const storagePath = await uploads.complete(sessionId);
  const encryptedMetadata = encodeBase64(new Uint8Array(randomBytes(64)));
  await documents.create({ encryptedMetadata, keywordDeterministic: [], storagePath });
}
