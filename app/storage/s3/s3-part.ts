import type { Readable } from 'node:stream';
import { ListPartsCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import type { S3Client } from '@aws-sdk/client-s3';
import { exactBody } from '../exact-body.ts';
import type { PartTarget, PutPartOptions } from '../object-store.ts';
import { StorageError } from '../storage-error.ts';
import { awsChunked, awsChunkedHeaders } from './aws-chunked.ts';
import { toStorageError } from './s3-error.ts';
import { toPartEtag } from './s3-part-etag.ts';

type Target = PartTarget & { Bucket: string; withTrailer: boolean };

function uploadPartCommand(target: Target, Body: Readable): UploadPartCommand {
  const command = new UploadPartCommand({
    Bucket: target.Bucket,
    Key: target.key,
    UploadId: target.uploadId,
    PartNumber: target.partNumber,
    ContentLength: target.size,
    Body,
  });
  if (target.withTrailer) {
    command.middlewareStack.add(
      (next) => (args) => {
        const { headers } = args.request as { headers: Record<string, string> };
        Object.assign(headers, awsChunkedHeaders(target.size));
        return next(args);
      },
      { step: 'build', name: 'awsChunkedHeaders' },
    );
  }
  return command;
}

/**
 * Why a part failed. A server that refuses before it has read the body may close the connection, and its answer is
 * lost: whether the upload is still open has to be asked for.
 */
async function explain(client: S3Client, target: Target, error: unknown): Promise<StorageError> {
  const failure = toStorageError(error);
  if (failure.code !== 'storage_unavailable') return failure;
  const { Bucket, key: Key, uploadId: UploadId } = target;
  try {
    await client.send(new ListPartsCommand({ Bucket, Key, UploadId, MaxParts: 1 }));
    return failure;
  } catch (refusal) {
    const reason = toStorageError(refusal);
    return reason.code === 'upload_not_found' ? reason : failure;
  }
}

/** Streams one part to S3, with backpressure from its socket to `body` and no buffer but the streams' own. */
export async function sendPart(
  client: S3Client,
  target: Target,
  body: Readable,
  options?: PutPartOptions,
): Promise<{ etag: string }> {
  const encoding = target.withTrailer ? awsChunked(target.size) : undefined;
  const exact = exactBody(body, target.size, { ...options, encoding });
  // The SDK does not notice a body that fails: without this its request would wait for the rest.
  const request = new AbortController();
  exact.once('error', (error) => request.abort(error));
  try {
    const { ETag } = await client.send(uploadPartCommand(target, exact), {
      abortSignal: request.signal,
    });
    if (!ETag) throw new StorageError('storage_unavailable');
    return { etag: toPartEtag(ETag, encoding?.checksum()) };
  } catch (error) {
    throw exact.errored ?? (await explain(client, target, error));
  } finally {
    exact.destroy();
  }
}
