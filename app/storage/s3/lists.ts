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
 * Where the next page begins. Some servers tell no key, others take no upload id beside the key; and as keys are used
 * once, the key alone will do. Throws when there is more and none is told: the first page would come again for ever.
 */
function nextPosition(page: ListMultipartUploadsCommandOutput): Position | undefined {
  if (!page.IsTruncated) return undefined;
  if (page.NextKeyMarker) return { KeyMarker: page.NextKeyMarker };
  if (page.NextUploadIdMarker) return { UploadIdMarker: page.NextUploadIdMarker };
  throw new StorageError('storage_unavailable');
}

export async function* listUploads(client: S3Client, Bucket: string): AsyncGenerator<OpenUpload> {
  let position: Position | undefined = {};
  while (position) {
    const command = new ListMultipartUploadsCommand({ Bucket, MaxUploads: 1_000, ...position });
    const page: ListMultipartUploadsCommandOutput = await client.send(command).catch((error) => {
      throw toStorageError(error);
    });
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      if (Key && UploadId && Initiated)
        yield { key: fromServerKey(Key), uploadId: UploadId, createdAt: Initiated };
    }
    position = nextPosition(page);
  }
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
    // Whatever else answers with 200 would pass for an empty bucket.
    if (page.Name !== Bucket) throw new StorageError('storage_unavailable');
    for (const { Key, Size, LastModified } of page.Contents ?? []) {
      if (Key && LastModified)
        yield { key: fromServerKey(Key), size: Size ?? 0, createdAt: LastModified };
    }
    ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
    if (page.IsTruncated && !ContinuationToken) throw new StorageError('storage_unavailable');
  } while (ContinuationToken);
}
