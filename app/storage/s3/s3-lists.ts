import {
  ListMultipartUploadsCommand,
  ListPartsCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3';
import type {
  CompletedPart,
  ListMultipartUploadsCommandOutput,
  ListPartsCommandOutput,
  S3Client,
} from '@aws-sdk/client-s3';
import type { ListedObject, OpenUpload, StoredPart } from '../object-store.ts';
import { StorageError } from '../storage-error.ts';
import { toStorageError } from './s3-error.ts';
import { unquoted } from './s3-version.ts';

export interface UploadId {
  Bucket: string;
  Key: string;
  UploadId: string;
}

// Not the SDK's paginator: it goes on for as long as there is a marker, and some servers send one with the last page.
async function listParts(client: S3Client, upload: UploadId): Promise<Map<number, CompletedPart>> {
  const stored = new Map<number, CompletedPart>();
  let page: ListPartsCommandOutput | undefined;
  do {
    const PartNumberMarker = page?.NextPartNumberMarker;
    page = await client.send(new ListPartsCommand({ ...upload, PartNumberMarker }));
    for (const { PartNumber, ETag, ChecksumCRC32 } of page.Parts ?? []) {
      if (PartNumber) stored.set(PartNumber, { PartNumber, ETag, ChecksumCRC32 });
    }
  } while (page.IsTruncated);
  return stored;
}

/**
 * `parts` in order and with the checksums S3 keeps, which a completion has to repeat.
 * Throws part_mismatch when one is missing or was replaced.
 */
export async function loadParts(
  client: S3Client,
  upload: UploadId,
  parts: readonly StoredPart[],
): Promise<CompletedPart[]> {
  const stored = await listParts(client, upload);
  return parts
    .toSorted((a, b) => a.partNumber - b.partNumber)
    .map(({ partNumber, etag }) => {
      const part = stored.get(partNumber);
      if (!part?.ETag || unquoted(part.ETag) !== etag) throw new StorageError('part_mismatch');
      return part;
    });
}

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
