import {
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  type ListObjectsV2CommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { ListedObject, OpenUpload } from '../interface/object-store.ts';
import { StorageError } from '../interface/storage-error.ts';
import { toStorageError } from './error.ts';
import { fromServerKey } from './key.ts';

type Position = Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'>;

/**
 * Returns where the next page begins, or undefined after the last one. Some servers give no key
 * marker, others do not accept an upload id beside it; the key alone is enough, as keys are used
 * once. Throws storage_unavailable if a truncated page has no marker: the first page would repeat
 * for ever.
 */
function nextPosition(page: ListMultipartUploadsCommandOutput): Position | undefined {
  const { NextKeyMarker = '', NextUploadIdMarker = '' } = page;
  if (page.IsTruncated !== true) return undefined;
  if (NextKeyMarker !== '') return { KeyMarker: NextKeyMarker };
  if (NextUploadIdMarker !== '') return { UploadIdMarker: NextUploadIdMarker };
  throw new StorageError('storage_unavailable');
}

export async function* listUploads(client: S3Client, Bucket: string): AsyncGenerator<OpenUpload> {
  let position: Position | undefined = {};
  while (position !== undefined) {
    const command = new ListMultipartUploadsCommand({ Bucket, MaxUploads: 1_000, ...position });
    const page: ListMultipartUploadsCommandOutput = await client.send(command).catch((error) => {
      throw toStorageError(error);
    });
    for (const { Key = '', UploadId = '', Initiated } of page.Uploads ?? []) {
      if (Key === '' || UploadId === '' || Initiated === undefined) continue;
      yield { key: fromServerKey(Key), uploadId: UploadId, createdAt: Initiated };
    }
    position = nextPosition(page);
  }
}

/** Returns the token of the next page, or undefined. Throws if a truncated page has no token. */
function nextToken(page: ListObjectsV2CommandOutput): string | undefined {
  const { IsTruncated, NextContinuationToken = '' } = page;
  if (IsTruncated !== true) return undefined;
  if (NextContinuationToken === '') throw new StorageError('storage_unavailable');
  return NextContinuationToken;
}

export async function* listObjects(
  client: S3Client,
  Bucket: string,
  Prefix: string | undefined,
): AsyncGenerator<ListedObject> {
  let ContinuationToken: string | undefined;
  do {
    const command = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken });
    const page: ListObjectsV2CommandOutput = await client.send(command).catch((error) => {
      throw toStorageError(error);
    });
    // Without this check, any other server that responds with 200 would look like an empty bucket.
    if (page.Name !== Bucket) throw new StorageError('storage_unavailable');
    for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
      if (Key === '' || LastModified === undefined) continue;
      yield { key: fromServerKey(Key), size: Size, createdAt: LastModified };
    }
    ContinuationToken = nextToken(page);
  } while (ContinuationToken !== undefined);
}
