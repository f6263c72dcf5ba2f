import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ExactBody } from '../interface/exact-body.ts';
import type { PartTarget, PutPartOptions, SentPart } from '../interface/object-store.ts';
import { syncDirectory } from './durable.ts';
import { partFileName } from './manifest.ts';

const bufferBytes = 1024 * 1024;

/**
 * Streams one part into the upload's directory, where the part appears only once it is complete and
 * on disk. Rejects with ENOENT if the directory does not exist.
 */
export async function writePart(
  directory: string,
  { partNumber, size }: PartTarget,
  body: Readable,
  options: PutPartOptions = {},
): Promise<SentPart> {
  const etag = randomBytes(16).toString('hex');
  const partial = join(directory, `${etag}.partial`);
  const exact = new ExactBody(body, size, options);
  try {
    await pipeline(
      exact,
      createWriteStream(partial, {
        flags: 'wx',
        mode: 0o600,
        flush: true,
        highWaterMark: bufferBytes,
      }),
    );
    await rename(partial, join(directory, partFileName({ partNumber, etag })));
    await syncDirectory(directory);
    return { etag, sha256: exact.sha256 };
  } catch (error) {
    await rm(partial, { force: true }).catch(() => undefined);
    throw error;
  }
}
