import type { Readable } from 'node:stream';
import { UploadPartCommand, type S3Client } from '@aws-sdk/client-s3';
import { ExactBody } from '../interface/exact-body.ts';
import type { PutPartOptions, SentPart } from '../interface/object-store.ts';
import { StorageError } from '../interface/storage-error.ts';
import { awsChunked, awsChunkedHeaders } from './aws-chunked.ts';
import { toPartEtag } from './part-etag.ts';
import { withoutAnswerLimit } from './client.ts';
import { explainUpload, isUploadOpen, type UploadTarget } from './upload.ts';

/** `size` in bytes. */
interface PartToSend {
  upload: UploadTarget;
  PartNumber: number;
  size: number;
  withTrailer: boolean;
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
 * Why a part failed. A server that refuses before it has read the body may close the connection, and its answer is
 * lost: whether the upload is still open has to be asked for.
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

/** Streams one part to S3, with backpressure from its socket to `body` and no buffer but the streams' own. */
export async function sendPart(
  client: S3Client,
  part: PartToSend,
  body: Readable,
  options: PutPartOptions = {},
): Promise<SentPart> {
  const encoding = part.withTrailer ? awsChunked(part.size) : undefined;
  const exact = new ExactBody(body, part.size, { ...options, encoding });
  // The SDK does not notice a body that fails: without this its request would wait for the rest.
  const failed = new AbortController();
  exact.once('error', (error) => failed.abort(error));
  const abortSignal = AbortSignal.any([failed.signal, ...(options.signal ? [options.signal] : [])]);
  try {
    const command = uploadPartCommand(part, exact);
    const { ETag } = await client.send(command, { ...withoutAnswerLimit, abortSignal });
    if (!ETag) throw new StorageError('storage_unavailable');
    const { sha256 } = exact;
    return { etag: toPartEtag(ETag, part.withTrailer ? sha256 : undefined), sha256 };
  } catch (error) {
    options.signal?.throwIfAborted();
    throw exact.errored ?? (await explain(client, part.upload, error));
  } finally {
    exact.destroy();
  }
}
