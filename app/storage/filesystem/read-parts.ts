import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { clipRange } from '../interface/byte-range.ts';
import { objectBody } from '../interface/object-body.ts';
import type { ByteRange, GetOptions, OpenObject } from '../interface/object-store.ts';
import { StorageError, type StorageErrorCode } from '../interface/storage-error.ts';
import type { Manifest } from './manifest.ts';

const bufferBytes = 256 * 1024;

/** Reads a range of a part file. Throws version_changed if the file has become shorter. */
async function* readPart(path: string, { first, last }: Required<ByteRange>) {
  let missing = last - first + 1;
  const range = { start: first, end: last, highWaterMark: bufferBytes };
  for await (const chunk of createReadStream(path, range) as AsyncIterable<Buffer>) {
    missing -= chunk.length;
    yield chunk;
  }
  if (missing > 0) throw new StorageError('version_changed');
}

async function* readRange(
  directory: string,
  { parts }: Manifest,
  { first, last }: Required<ByteRange>,
): AsyncGenerator<Buffer> {
  let partStart = 0;
  for (const { file, size } of parts) {
    const within = {
      first: Math.max(first - partStart, 0),
      last: Math.min(last - partStart, size - 1),
    };
    if (within.first <= within.last) yield* readPart(join(directory, file), within);
    partStart += size;
  }
}

/**
 * Reads an object from its part files, which are opened one after the other. Throws version_changed
 * or invalid_range.
 * @param explain converts an error, where ENOENT means the given code.
 */
export function readParts(
  directory: string,
  manifest: Manifest,
  { range, ifVersion, signal }: GetOptions,
  explain: (error: unknown, missing: StorageErrorCode) => Promise<StorageError>,
): OpenObject {
  const { size, version } = manifest;
  if (ifVersion !== undefined && ifVersion !== version) throw new StorageError('version_changed');
  const clipped = clipRange(size, range);
  async function* bytes() {
    try {
      yield* readRange(directory, manifest, clipped);
    } catch (error) {
      throw await explain(error, 'version_changed');
    }
  }
  const source = Readable.from(bytes(), { objectMode: false, highWaterMark: bufferBytes });
  return { size, version, body: objectBody(source, clipped.last - clipped.first + 1, signal) };
}
