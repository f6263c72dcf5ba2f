import { Transform, finished, type Readable } from 'node:stream';
import { StorageError } from './storage-error.ts';

/**
 * Returns `source` as the body of an object: a stream that ends only after exactly `size` bytes,
 * and otherwise fails with a StorageError or the reason of `signal`. Destroying it destroys
 * `source`.
 */
export function objectBody(
  source: Readable,
  size: number,
  signal: AbortSignal | undefined,
): Readable {
  let missing = size;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      missing -= chunk.length;
      if (missing < 0) done(new StorageError('storage_unavailable'));
      else done(null, chunk);
    },
    flush(done) {
      done(missing === 0 ? null : new StorageError('storage_unavailable'));
    },
  });
  const onAbort = () => body.destroy(signal?.reason as Error);
  body.once('close', () => {
    source.destroy();
    signal?.removeEventListener('abort', onAbort);
  });
  finished(source, { writable: false }, (cause) => {
    if (cause !== undefined && cause !== null) body.destroy(asStorageError(cause));
  });
  if (signal?.aborted === true) onAbort();
  else signal?.addEventListener('abort', onAbort);
  return source.pipe(body);
}

function asStorageError(cause: Error): StorageError {
  return cause instanceof StorageError ? cause : new StorageError('storage_unavailable', { cause });
}
