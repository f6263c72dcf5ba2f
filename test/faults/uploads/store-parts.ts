import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { encodeBase64 } from '../../../client/bytes/base64.ts';
import { createTaskPool } from '../../../client/http/task-pool.ts';
import type { VaultSession } from '../../../client/session.ts';

/** A file of equal parts of random bytes. */
export interface PartsShape {
  readonly parts: number;
  readonly partBytes: number;
  readonly concurrency: number;
}

export interface StoredParts {
  readonly documentId: string;
  readonly storagePath: string;
  /** SHA3-256, as the server found it, hex. */
  readonly fileHash: string;
  /** What the file is made of, so many times over. */
  readonly part: Uint8Array;
}

/** Uploads random bytes as they are, nothing encrypted, and makes them a document. */
export async function storeParts(
  { uploads, documents }: VaultSession,
  { parts, partBytes, concurrency }: PartsShape,
): Promise<StoredParts> {
  const part = new Uint8Array(randomBytes(partBytes));
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', part));
  const { sessionId } = await uploads.create({
    fileName: 'random.bin',
    fileSize: parts * partBytes,
    mimeType: 'application/octet-stream',
    totalParts: parts,
  });
  const pool = createTaskPool(concurrency);
  for (let number = 1; number <= parts; number++) {
    await pool.start(() => uploads.putPart({ sessionId, number, bytes: part, sha256 }));
  }
  await pool.finish();
  const storagePath = await uploads.complete(sessionId);
  const encryptedMetadata = encodeBase64(new Uint8Array(randomBytes(64)));
  const { id: documentId, fileHash } = await documents.create({
    encryptedMetadata,
    keywordDeterministic: [],
    storagePath,
  });
  return { documentId, storagePath, fileHash, part };
}

/** What `openssl dgst -sha3-256` says of the file, hex. */
export async function hashWithOpenssl(part: Uint8Array, parts: number): Promise<string> {
  const openssl = spawn('openssl', ['dgst', '-sha3-256', '-r'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(openssl, 'exit') as Promise<[number | null]>;
  const output = text(openssl.stdout);
  await pipeline(Readable.from(Array.from({ length: parts }, () => part)), openssl.stdin);
  const [code] = await ended;
  if (code !== 0) throw new Error(`openssl ended with ${code}`);
  return (await output).slice(0, 64);
}
