import { bytesToHex } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { createContentHasher } from '../content/content-hasher.ts';
import type { SizedContent } from '../content/content.ts';
import type { CreateHash } from '../crypto/hash.ts';
import { ClientError } from '../errors/client-error.ts';
import type { ByteSource } from '../files/byte-source.ts';
import { encryptFile } from '../files/encryption.ts';
import { encryptedSize } from '../files/layout.ts';
import { createTaskPool } from '../async/task-pool.ts';
import { joinParts } from './parts.ts';
import { noResume, type ResumeStore } from './resume.ts';
import type { NextVersion, RunningUpload } from './saved-upload.ts';
import type { Uploads } from './uploads.ts';

const defaultConcurrency = 4;

export interface UploadDependencies {
  readonly uploads: Uploads;
  readonly createHash: CreateHash;
}

export interface UploadOptions {
  readonly source: ByteSource;
  /** The present master key, under which the journal keeps the document key. */
  readonly masterKey: Bytes;
  /**
   * The version that the file becomes, of a document that exists. By default it becomes version 1
   * of a new document.
   */
  readonly versionOf?: NextVersion;
  /** Number of parts to send at a time, 1 or more; as many are held in memory. The default is 4. */
  readonly concurrency?: number;
  /**
   * Journal from which a later call can resume. After an upload, `uploadFile` does not clear it:
   * the caller must.
   */
  readonly resume?: ResumeStore;
  /** Called after each part with the number of encrypted bytes that the server has so far. */
  readonly onProgress?: (progress: {
    readonly sentBytes: number;
    readonly totalBytes: number;
  }) => void;
  /**
   * Aborts the upload, unless the vault already has the whole file. With a journal, a later call
   * can resume the upload.
   */
  readonly signal?: AbortSignal;
}

/** The hashes of a file, computed over its bytes while they were encrypted and sent. */
export interface SentFile extends SizedContent {
  /** SHA3-256 of all encrypted bytes, 64 hex digits. */
  readonly fileHash: string;
}

/**
 * Encrypts all parts, and hashes the plaintext in the same pass. Records and sends the parts that
 * the vault lacks, and compares all other parts with their records. Throws source_changed if a part
 * encrypts to other bytes than recorded; such a part is not sent.
 */
export async function sendParts(
  { uploads, createHash }: UploadDependencies,
  { source, concurrency = defaultConcurrency, resume = noResume, ...options }: UploadOptions,
  { start, sessionId, digests, sent, fileKey, header }: RunningUpload,
): Promise<SentFile> {
  const { partSize } = start;
  const totalBytes = encryptedSize(source.size, header.segmentSize);
  const hash = await createHash('sha3-256');
  const content = await createContentHasher({ createHash });
  const pool = createTaskPool(concurrency);
  const failure = new AbortController();
  const signal =
    options.signal === undefined
      ? failure.signal
      : AbortSignal.any([options.signal, failure.signal]);

  let sentBytes = 0;
  const onSent = (length: number) => {
    sentBytes += length;
    options.onProgress?.({ sentBytes, totalBytes });
  };

  let number = 0;
  const segments = encryptFile(fileKey, header, source, (bytes) => content.update(bytes));
  try {
    for await (const bytes of joinParts(segments, { partSize, totalSize: totalBytes })) {
      signal.throwIfAborted();
      number += 1;
      hash.update(bytes);
      const part = { sessionId, number, bytes, sha256: await sha256(bytes), signal };
      const digest = bytesToHex(part.sha256);

      const recorded = digests.get(number);
      if (recorded !== undefined && recorded !== digest) throw new ClientError('source_changed');
      if (recorded === undefined) {
        await resume.append({ type: 'part', number, sha256: digest });
        digests.set(number, digest);
      }
      if (sent.has(number)) {
        onSent(bytes.length);
        continue;
      }
      await pool.start(async () => {
        await uploads.putPart(part);
        await resume.append({ type: 'sent', number: part.number });
        onSent(bytes.length);
      });
    }
    await pool.finish();
    return { fileHash: hash.digest(), ...(await content.finish()) };
  } catch (error) {
    failure.abort(error);
    throw error;
  } finally {
    await pool.settle();
  }
}

async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}
