import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ReadOptions } from '../object-store.ts';
import { StorageError } from '../storage-error.ts';
import type { Manifest } from './manifest.ts';

const bufferBytes = 256 * 1024;

async function* readRange(
  directory: string,
  manifest: Manifest,
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  let partStart = 0;
  for (const { file, size } of manifest.parts) {
    const first = Math.max(start - partStart, 0);
    const last = Math.min(end - partStart, size - 1);
    if (first <= last) {
      const range = { start: first, end: last, highWaterMark: bufferBytes };
      yield* createReadStream(join(directory, file), range) as AsyncIterable<Buffer>;
    }
    partStart += size;
  }
}

/** The object's bytes from its part files. Throws version_changed, invalid_range. */
export function readParts(
  directory: string,
  manifest: Manifest,
  { version, start = 0, end = manifest.size - 1 }: ReadOptions,
): Readable {
  if (version !== undefined && version !== manifest.version) {
    throw new StorageError('version_changed');
  }
  if (start >= manifest.size) throw new StorageError('invalid_range');
  const bytes = readRange(directory, manifest, start, end);
  return Readable.from(bytes, { objectMode: false, highWaterMark: bufferBytes });
}
