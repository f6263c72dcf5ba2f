import type { Readable } from 'node:stream';
import { UploadPartCommand, type S3Client } from '@aws-sdk/client-s3';
import { ExactBody } from '../interface/exact-body.ts';
import type { PutPartOptions, SentPart } from '../interface/object-store.ts';
import { StorageError } from '../interface/storage-error.ts';
import { awsChunked, awsChunkedHeaders } from './aws-chunked.ts';
import { toPartEtag } from './part-etag.ts';
import { withoutAnswerLimit } from './client.ts';
import { explainUpload, isUploadOpen, type UploadTarget } from './multipart-upload.ts';

interface PartToSend {
  readonly upload: UploadTarget;
  readonly PartNumber: number;
  /** Size of the part in bytes. */
  readonly size: number;
  /** Sends a checksum in a trailer (aws-chunked.ts). */
  readonly withTrailer: boolean;
}

function uploadPartCommand(part: PartToSend, Body: Readable): UploadPartCommand {
  const { upload, PartNumber, size } = part;
  const command = new UploadPartCommand({ ...upload, PartNumber, ContentLength: size, Body });
  if (part.withTrailer) {
    command.middlewareStack.add(
      (next) => (args) => {
        const { headers } = args.request as { headers: Record<string, string> };
        Object.assign(headers, awsChunkedHeaders(size));
        return next(args);
      },
      { step: 'build', name: 'awsChunkedHeaders' },
    );
  }
  return command;
}

/**
 * Converts an error of a part. A server that refuses a request before it has read the body may
 * close the connection, which loses its response. Therefore asks the server whether the upload is
 * still open.
 */
async function explain(
  client: S3Client,
  upload: UploadTarget,
  error: unknown,
): Promise<StorageError> {
  const failure = await explainUpload(client, upload, error);
  if (failure.code !== 'storage_unavailable') return failure;
  const isOpen = await isUploadOpen(client, upload).catch(() => true);
  return isOpen ? failure : new StorageError('upload_not_found', { cause: error });
}

/** Streams one part to S3, with back-pressure from the socket to `body` and no extra buffer. */
export async function sendPart(
  client: S3Client,
  part: PartToSend,
  body: Readable,
  options: PutPartOptions = {},
): Promise<SentPart> {
  const encoding = part.withTrailer ? awsChunked(part.size) : undefined;
  const exact = new ExactBody(body, part.size, { ...options, encoding });
  // The SDK does not notice a body that fails: without this its request would wait for more bytes.
  const failed = new AbortController();
  exact.once('error', (error) => failed.abort(error));
  const signals = options.signal === undefined ? [] : [options.signal];
  const abortSignal = AbortSignal.any([failed.signal, ...signals]);
  try {
    const command = uploadPartCommand(part, exact);
    const { ETag } = await client.send(command, { ...withoutAnswerLimit, abortSignal });
    if (ETag === undefined || ETag === '') throw new StorageError('storage_unavailable');
    const { sha256 } = exact;
    return { etag: toPartEtag(ETag, part.withTrailer ? sha256 : undefined), sha256 };
  } catch (error) {
    options.signal?.throwIfAborted();
    throw exact.errored ?? (await explain(client, part.upload, error));
  } finally {
    exact.destroy();
  }
}
