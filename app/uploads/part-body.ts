import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import { AppError } from '../errors.ts';

/** A client that sends nothing for this long is let go. */
const idleMs = 60_000;

/** The declared length of a part. Throws length_required. */
export function declaredLength(request: IncomingMessage): number {
  const header = request.headers['content-length'];
  if (header === undefined) throw new AppError('length_required');
  return Number(header);
}

/** The body of a part on its way. */
export interface HashedBody {
  /** Fails when the client goes away. */
  readonly stream: Transform;
  /** SHA-256 of what has passed, base64; once, at the end. */
  sha256(): string;
  /** Lets the rest of the body run off, so that the client hears the answer. */
  discard(): void;
}

/** Lets the request's body through as it is and hashes it; at most a few chunks are held. */
export function hashBody(request: IncomingMessage): HashedBody {
  const hash = createHash('sha256');
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  request.setTimeout(idleMs, () => request.destroy(new Error('the client stopped sending')));
  request.once('close', () => {
    if (!request.complete) stream.destroy(new Error('the client went away'));
  });
  request.on('error', (error) => stream.destroy(error));
  // Whoever reads the stream hears its errors; nobody reads it any more after `discard`.
  stream.on('error', () => undefined);
  request.pipe(stream);
  return {
    stream,
    sha256: () => hash.digest('base64'),
    discard() {
      request.unpipe(stream);
      stream.destroy();
      request.resume();
    },
  };
}

/** Reads the body to its end and keeps only its SHA-256 (base64). Throws incomplete_body. */
export async function drainBody(request: IncomingMessage): Promise<string> {
  const { stream, sha256 } = hashBody(request);
  try {
    await finished(stream.resume());
  } catch (cause) {
    throw new AppError('incomplete_body', { cause });
  }
  return sha256();
}
