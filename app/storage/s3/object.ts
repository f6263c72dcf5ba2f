import type { Readable } from 'node:stream';
import {
  GetObjectCommand,
  HeadObjectCommand,
  type GetObjectCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { clipRange } from '../interface/byte-range.ts';
import { objectBody } from '../interface/object-body.ts';
import type { ByteRange, GetOptions, ObjectStat, OpenObject } from '../interface/object-store.ts';
import { StorageError } from '../interface/storage-error.ts';
import { assertBucket } from './bucket.ts';
import { toStorageError } from './error.ts';
import { toVersion, versionCondition } from './version.ts';

export interface ObjectTarget {
  readonly Bucket: string;
  readonly Key: string;
}

/**
 * Converts an error. Returns object_not_found only if the bucket exists, since a response to HEAD
 * does not distinguish a missing object from a missing bucket.
 */
async function explain(client: S3Client, Bucket: string, error: unknown): Promise<StorageError> {
  const failure = toStorageError(error, { 404: 'object_not_found' });
  if (failure.code === 'object_not_found') await assertBucket(client, Bucket);
  return failure;
}

export async function statObject(
  client: S3Client,
  target: ObjectTarget,
): Promise<ObjectStat | undefined> {
  try {
    const head = await client.send(new HeadObjectCommand(target));
    return { size: head.ContentLength ?? 0, version: toVersion(head) };
  } catch (error) {
    const failure = await explain(client, target.Bucket, error);
    if (failure.code === 'object_not_found') return undefined;
    throw failure;
  }
}

function rangeHeader({ first, last = Infinity }: ByteRange): string {
  if (last < first) throw new StorageError('invalid_range');
  return `bytes=${first}-${Number.isFinite(last) ? last : ''}`;
}

/**
 * Returns the size, the version and the length of a response. Throws unless the response holds the
 * requested bytes, since not every server supports all conditions.
 */
function checkResponse(response: GetObjectCommandOutput, { range, ifVersion }: GetOptions) {
  const version = toVersion(response);
  if (ifVersion?.startsWith('etag:') === true && version !== ifVersion) {
    throw new StorageError('version_changed');
  }
  const sizeText = response.ContentRange?.split('/')[1];
  const size = Number(range === undefined ? response.ContentLength : sizeText);
  if (!Number.isSafeInteger(size)) throw new StorageError('storage_unavailable');
  const { first, last } = clipRange(size, range);
  if (range !== undefined && response.ContentRange !== `bytes ${first}-${last}/${size}`) {
    throw new StorageError('storage_unavailable');
  }
  return { size, version, length: last - first + 1 };
}

export async function getObject(
  client: S3Client,
  target: ObjectTarget,
  options: GetOptions,
): Promise<OpenObject> {
  const { range, ifVersion, signal } = options;
  const command = new GetObjectCommand({
    ...target,
    Range: range === undefined ? undefined : rangeHeader(range),
    ...versionCondition(ifVersion),
  });
  const response = await client.send(command, { abortSignal: signal }).catch(async (error) => {
    signal?.throwIfAborted();
    throw await explain(client, target.Bucket, error);
  });
  const source = response.Body as Readable;
  try {
    const { length, ...stat } = checkResponse(response, options);
    return { ...stat, body: objectBody(source, length, signal) };
  } catch (error) {
    source.destroy();
    throw error;
  }
}
