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
  UploadId: string;
}

/** What a missing thing is to every operation on an upload. */
const uploadMeanings = { 404: 'upload_not_found' } as const;

/** An upload is missing only from a bucket that is there: a proxy without its server may find nothing either. */
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

/** The SDK's own paginator goes on as long as there is a marker, which some servers also give with the last page. */
async function* listParts(client: S3Client, upload: UploadTarget): AsyncGenerator<Part> {
  let PartNumberMarker: string | undefined;
  do {
    const page = await client.send(new ListPartsCommand({ ...upload, PartNumberMarker }));
    yield* page.Parts ?? [];
    PartNumberMarker = page.IsTruncated ? page.NextPartNumberMarker : undefined;
  } while (PartNumberMarker);
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
      if (part && isSamePart(part, listed)) lost.delete(part.partNumber);
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
  if (failure && failure.code !== 'upload_not_found') throw failure;
  // Keys are used once: without an open upload, an object is what an earlier completion has made. It is asked for, as
  // the answer to a completion, repeated or not, does not always tell the VersionId.
  const object = await statObject(client, { Bucket: upload.Bucket, Key: upload.Key });
  if (object) return { version: object.version };
  // To some servers an upload without any part is none.
  const isOpen = await isUploadOpen(client, upload);
  throw new StorageError(isOpen ? 'part_mismatch' : 'upload_not_found', { cause: failure });
}
