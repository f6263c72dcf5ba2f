import {
  CompleteMultipartUploadCommand,
  ListPartsCommand,
  type Part,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { StoredPart } from '../interface/object-store.ts';
import { StorageError } from '../interface/storage-error.ts';
import { assertBucket } from './bucket.ts';
import { withoutAnswerLimit } from './client.ts';
import { toStorageError } from './error.ts';
import { statObject, type ObjectTarget } from './object.ts';
import { isSamePart, toCompletedPart } from './part-etag.ts';

export interface UploadTarget extends ObjectTarget {
  readonly UploadId: string;
}

/** Meanings of errors that all operations on an upload share. */
const uploadMeanings = { 404: 'upload_not_found' } as const;

/**
 * Converts an error of an upload. Returns upload_not_found only if the bucket exists, since a proxy
 * that lost its server may respond with 404 too.
 */
export async function explainUpload(
  client: S3Client,
  { Bucket }: UploadTarget,
  error: unknown,
): Promise<StorageError> {
  const failure = toStorageError(error, uploadMeanings);
  if (failure.code === 'upload_not_found') await assertBucket(client, Bucket);
  return failure;
}

export async function isUploadOpen(client: S3Client, upload: UploadTarget): Promise<boolean> {
  try {
    await client.send(new ListPartsCommand({ ...upload, MaxParts: 1 }));
    return true;
  } catch (error) {
    const failure = await explainUpload(client, upload, error);
    if (failure.code === 'upload_not_found') return false;
    throw failure;
  }
}

/**
 * Lists the parts of an upload. Unlike the SDK's paginator it stops at a page that is not
 * truncated: some servers give a marker with the last page, too.
 */
async function* listParts(client: S3Client, upload: UploadTarget): AsyncGenerator<Part> {
  let PartNumberMarker: string | undefined;
  do {
    const page = await client.send(new ListPartsCommand({ ...upload, PartNumberMarker }));
    yield* page.Parts ?? [];
    PartNumberMarker = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
  } while (PartNumberMarker !== undefined && PartNumberMarker !== '');
}

export async function findLostParts(
  client: S3Client,
  upload: UploadTarget,
  parts: readonly StoredPart[],
): Promise<number[]> {
  const lost = new Map(parts.map((part) => [part.partNumber, part]));
  try {
    for await (const listed of listParts(client, upload)) {
      const part = lost.get(listed.PartNumber ?? 0);
      if (part !== undefined && isSamePart(part, listed)) lost.delete(part.partNumber);
    }
  } catch (error) {
    throw await explainUpload(client, upload, error);
  }
  return [...lost.keys()].toSorted((a, b) => a - b);
}

export async function completeUpload(
  client: S3Client,
  upload: UploadTarget,
  parts: readonly StoredPart[],
): Promise<{ version: string }> {
  if (parts.length === 0) throw new StorageError('part_mismatch');
  const Parts = parts.toSorted((a, b) => a.partNumber - b.partNumber).map(toCompletedPart);
  const command = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } });
  const failure = await client.send(command, withoutAnswerLimit).then(
    () => undefined,
    (error) => toStorageError(error, { ...uploadMeanings, BadDigest: 'part_mismatch' }),
  );
  if (failure !== undefined && failure.code !== 'upload_not_found') throw failure;
  // Keys are used once, so an object without an open upload comes from an earlier completion. The
  // version is read from the object, as the response to a completion does not always have a
  // VersionId.
  const object = await statObject(client, { Bucket: upload.Bucket, Key: upload.Key });
  if (object !== undefined) return { version: object.version };
  // Some servers report an open upload without parts as not found.
  const isOpen = await isUploadOpen(client, upload);
  throw new StorageError(isOpen ? 'part_mismatch' : 'upload_not_found', { cause: failure });
}
