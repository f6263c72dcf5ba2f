import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadBucketCommand,
  S3ServiceException,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { awsChunked, awsChunkedHeaders } from '../aws-chunked.ts';
import { createS3Client, type S3Config } from '../client.ts';

const partBytes = 1_024;

/**
 * Creates the questions about an S3 server that only an operator asks. They throw the errors of the
 * AWS SDK.
 */
export function inspectBucket(config: S3Config) {
  const client = createS3Client(config);
  return {
    /** Returns the time that the server states in the header Date, whole seconds rounded down. */
    readClock: (): Promise<Date> => readClock(client, config.bucket),

    /**
     * Returns whether the server refuses a part whose bytes do not match the checksum at its end.
     * Uploads such a part under `key`, and aborts its upload.
     */
    async verifiesChecksums(key: string): Promise<boolean> {
      const upload = { Bucket: config.bucket, Key: key };
      const command = new CreateMultipartUploadCommand({ ...upload, ChecksumAlgorithm: 'SHA256' });
      const { UploadId } = await client.send(command);
      try {
        await client.send(damagedPart({ ...upload, UploadId }));
        return false;
      } catch (error) {
        if (isRefusal(error)) return true;
        throw error;
      } finally {
        await client.send(new AbortMultipartUploadCommand({ ...upload, UploadId }));
      }
    },

    close: () => client.destroy(),
  };
}

async function readClock(client: S3Client, Bucket: string): Promise<Date> {
  const command = new HeadBucketCommand({ Bucket });
  let date: string | undefined;
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers } = result.response as { readonly headers: Record<string, string> };
      date = headers['date'];
      return result;
    },
    // Within the step that throws the error of a response.
    { step: 'deserialize', name: 'readDate', priority: 'low' },
  );
  const failure: unknown = await client.send(command).then(
    () => undefined,
    (error: unknown) => error,
  );
  // A refusal states the time too, as one does because of the clock.
  if (date === undefined) throw failure ?? new Error('the server states no time');
  return new Date(date);
}

/** Returns the upload of a part whose trailer has the checksum of other bytes. */
function damagedPart(upload: {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string | undefined;
}): UploadPartCommand {
  const chunks: (Buffer | string)[] = [];
  const encoding = awsChunked(partBytes);
  encoding.write(randomBytes(partBytes), (chunk) => chunks.push(chunk));
  encoding.end((chunk) => chunks.push(chunk), createHash('sha256').digest('base64'));
  const Body = Readable.from(chunks, { objectMode: false });
  const part = { ...upload, PartNumber: 1, ContentLength: partBytes, Body };
  const command = new UploadPartCommand(part);
  command.middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      Object.assign(headers, awsChunkedHeaders(partBytes));
      return next(args);
    },
    { step: 'build', name: 'awsChunkedHeaders' },
  );
  return command;
}

/** Returns whether the server found the part wrong, rather than failed. */
function isRefusal(error: unknown): boolean {
  return error instanceof S3ServiceException && error.$metadata.httpStatusCode === 400;
}
