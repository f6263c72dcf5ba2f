import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
} from '@aws-sdk/client-s3';
import { assertObjectKey } from '../interface/object-key.ts';
import type { ObjectStore } from '../interface/object-store.ts';
import { StorageError } from '../interface/storage-error.ts';
import { assertBucket } from './bucket.ts';
import { answerMs, createS3Client, type S3Config, type S3Limits } from './client.ts';
import { toStorageError } from './error.ts';
import { toServerKey } from './key.ts';
import { listObjects, listUploads } from './lists.ts';
import { getObject, statObject } from './object.ts';
import { sendPart } from './part.ts';
import { completeUpload, explainUpload, findLostParts } from './multipart-upload.ts';
import { versionCondition } from './version.ts';

/** Stores objects in an existing S3 bucket. The credentials must be allowed to list it. */
export function createS3Store(config: S3Config, limits?: S3Limits): ObjectStore {
  const client = createS3Client(config, limits);
  const Bucket = config.bucket;
  const withTrailer = config.checksums === 'when_supported';
  const objectAt = (key: string) => ({ Bucket, Key: toServerKey(key) });
  const uploadAt = (key: string, UploadId: string) => ({ ...objectAt(key), UploadId });
  let bucketSeen: Promise<void> | undefined;

  /** Looks for the bucket, once for all who ask meanwhile, until it was seen. */
  function seeBucket(): Promise<void> {
    bucketSeen ??= assertBucket(client, Bucket, answerMs).catch((error: unknown) => {
      bucketSeen = undefined;
      throw error;
    });
    return bucketSeen;
  }

  return {
    async createMultipart(key) {
      assertObjectKey(key);
      // Some servers would create a missing bucket, which would hide a wrong name.
      await seeBucket();
      const ChecksumAlgorithm = withTrailer ? 'SHA256' : undefined;
      const command = new CreateMultipartUploadCommand({ ...objectAt(key), ChecksumAlgorithm });
      const { UploadId } = await client.send(command).catch((error) => {
        throw toStorageError(error);
      });
      if (UploadId === undefined || UploadId === '') throw new StorageError('storage_unavailable');
      return UploadId;
    },

    putPart({ key, uploadId, partNumber: PartNumber, size }, body, options) {
      const upload = uploadAt(key, uploadId);
      return sendPart(client, { upload, PartNumber, size, withTrailer }, body, options);
    },

    completeMultipart: (key, uploadId, parts) =>
      completeUpload(client, uploadAt(key, uploadId), parts),

    findLostParts: (key, uploadId, parts) => findLostParts(client, uploadAt(key, uploadId), parts),

    async abortMultipart(key, uploadId) {
      const upload = uploadAt(key, uploadId);
      try {
        await client.send(new AbortMultipartUploadCommand(upload));
      } catch (error) {
        const failure = await explainUpload(client, upload, error);
        if (failure.code !== 'upload_not_found') throw failure;
      }
    },

    stat: (key) => statObject(client, objectAt(key)),

    get: (key, options = {}) => getObject(client, objectAt(key), options),

    async delete(key, version) {
      const target = version ?? (await statObject(client, objectAt(key)))?.version;
      if (target === undefined || target === '') return;
      const { VersionId } = versionCondition(target);
      await client.send(new DeleteObjectCommand({ ...objectAt(key), VersionId })).catch((error) => {
        throw toStorageError(error);
      });
    },

    listUploads: () => listUploads(client, Bucket),

    listObjects: (prefix) =>
      listObjects(client, Bucket, prefix === undefined ? undefined : toServerKey(prefix)),

    ping: () => assertBucket(client, Bucket),

    freeSpace: async () => undefined,

    async close() {
      client.destroy();
    },
  };
}
