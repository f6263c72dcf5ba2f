import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
} from '@aws-sdk/client-s3';
import type { S3Client } from '@aws-sdk/client-s3';
import { assertObjectKey } from '../object-key.ts';
import type { ObjectStat, ObjectStore, ReadOptions, StoredPart } from '../object-store.ts';
import { StorageError } from '../storage-error.ts';
import type { StorageErrorCode } from '../storage-error.ts';
import { createS3Client } from './s3-client.ts';
import type { S3Config } from './s3-client.ts';
import { toStorageError } from './s3-error.ts';
import { listObjects, listUploads } from './s3-lists.ts';
import { toCompletedPart } from './s3-part-etag.ts';
import { sendPart } from './s3-part.ts';
import { toVersion, versionCondition } from './s3-version.ts';

const pingMs = 3_000;

function throwStorageError(error: unknown): never {
  throw toStorageError(error);
}

async function ignoring(code: StorageErrorCode, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const storageError = toStorageError(error);
    if (storageError.code !== code) throw storageError;
  }
}

async function stat(
  client: S3Client,
  Bucket: string,
  Key: string,
): Promise<ObjectStat | undefined> {
  try {
    const head = await client.send(new HeadObjectCommand({ Bucket, Key }));
    return { size: head.ContentLength ?? 0, version: toVersion(head) };
  } catch (error) {
    const storageError = toStorageError(error);
    if (storageError.code === 'object_not_found') return undefined;
    throw storageError;
  }
}

async function complete(
  client: S3Client,
  upload: { Bucket: string; Key: string; UploadId: string },
  parts: readonly StoredPart[],
): Promise<{ version: string }> {
  if (parts.length === 0) throw new StorageError('part_mismatch');
  const Parts = parts.toSorted((a, b) => a.partNumber - b.partNumber).map(toCompletedPart);
  const completion = client.send(
    new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }),
  );
  // Keys are used once: without an open upload, an object is what an earlier completion has made.
  await ignoring('upload_not_found', completion);
  // Asked for, as the answer to a completion, repeated or not, does not always tell the VersionId.
  const object = await stat(client, upload.Bucket, upload.Key);
  if (!object) throw new StorageError('upload_not_found');
  return { version: object.version };
}

async function read(
  client: S3Client,
  target: { Bucket: string; Key: string },
  { version, start = 0, end }: ReadOptions,
): Promise<Readable> {
  const Range = start > 0 || end !== undefined ? `bytes=${start}-${end ?? ''}` : undefined;
  const { Body } = await client
    .send(new GetObjectCommand({ ...target, Range, ...versionCondition(version) }))
    .catch(throwStorageError);
  if (!Body) throw new StorageError('storage_unavailable');
  return Body as Readable;
}

/** Objects in an S3 bucket, which must exist. */
export function createS3Store(config: S3Config): ObjectStore {
  const client = createS3Client(config);
  const Bucket = config.bucket;
  const withTrailer = config.checksums === 'when_supported';

  return {
    async createMultipart(key) {
      assertObjectKey(key);
      const ChecksumAlgorithm = withTrailer ? 'CRC32' : undefined;
      const { UploadId } = await client
        .send(new CreateMultipartUploadCommand({ Bucket, Key: key, ChecksumAlgorithm }))
        .catch(throwStorageError);
      if (!UploadId) throw new StorageError('storage_unavailable');
      return UploadId;
    },

    putPart: (part, body, options) =>
      sendPart(client, { ...part, Bucket, withTrailer }, body, options),

    completeMultipart: (key, uploadId, parts) =>
      complete(client, { Bucket, Key: key, UploadId: uploadId }, parts),

    abortMultipart: (key, uploadId) =>
      ignoring(
        'upload_not_found',
        client.send(new AbortMultipartUploadCommand({ Bucket, Key: key, UploadId: uploadId })),
      ),

    stat: (key) => stat(client, Bucket, key),

    read: (key, options = {}) => read(client, { Bucket, Key: key }, options),

    async delete(key, version) {
      const target = version ?? (await stat(client, Bucket, key))?.version;
      if (!target) return;
      const { VersionId } = versionCondition(target);
      await client
        .send(new DeleteObjectCommand({ Bucket, Key: key, VersionId }))
        .catch(throwStorageError);
    },

    listUploads: () => listUploads(client, Bucket),

    listObjects: () => listObjects(client, Bucket),

    async ping() {
      const abortSignal = AbortSignal.timeout(pingMs);
      try {
        await client.send(new HeadBucketCommand({ Bucket }), { abortSignal });
      } catch (cause) {
        throw new StorageError('storage_unavailable', { cause });
      }
    },

    async close() {
      client.destroy();
    },
  };
}
