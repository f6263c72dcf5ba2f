import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { encodeBase64 } from '../../../client/bytes/base64.ts';
import { createTaskPool } from '../../../client/async/task-pool.ts';
import type { VaultSession } from '../../../client/session.ts';

/** The shape of a file of equal parts with random bytes. */
export interface PartsShape {
  readonly parts: number;
  readonly partBytes: number;
  readonly concurrency: number;
}

export interface StoredParts {
  readonly documentId: string;
  readonly storagePath: string;
  /** The SHA3-256 that the server computed, in hex. */
  readonly fileHash: string;
  /** The bytes that every part of the file has. */
  readonly part: Uint8Array;
}

/** Uploads random bytes unencrypted, and creates a document from them. */
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
    id: crypto.randomUUID(),
    encryptedMetadata,
    keywordDeterministic: [],
    storagePath,
  });
  return { documentId, storagePath, fileHash, part };
}

/** Returns the SHA3-256 of the file in hex, as `openssl dgst -sha3-256` computes it. */
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
