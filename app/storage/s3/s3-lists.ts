import { ListMultipartUploadsCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import type { ListMultipartUploadsCommandOutput, S3Client } from '@aws-sdk/client-s3';
import type { ListedObject, OpenUpload } from '../object-store.ts';
import { toStorageError } from './s3-error.ts';

export async function* listUploads(client: S3Client, Bucket: string): AsyncGenerator<OpenUpload> {
  let page: ListMultipartUploadsCommandOutput | undefined;
  do {
    const position = { KeyMarker: page?.NextKeyMarker, UploadIdMarker: page?.NextUploadIdMarker };
    page = await client
      .send(new ListMultipartUploadsCommand({ Bucket, ...position }))
      .catch((error: unknown) => {
        throw toStorageError(error);
      });
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      if (Key && UploadId && Initiated)
        yield { key: Key, uploadId: UploadId, createdAt: Initiated };
    }
  } while (page.IsTruncated);
}

export async function* listObjects(client: S3Client, Bucket: string): AsyncGenerator<ListedObject> {
  try {
    for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket })) {
      for (const { Key, Size, LastModified } of Contents) {
        if (Key && LastModified) yield { key: Key, size: Size ?? 0, createdAt: LastModified };
      }
    }
  } catch (error) {
    throw toStorageError(error);
  }
}
