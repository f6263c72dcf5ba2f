import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { finished, Transform } from 'node:stream';
import { finished as end } from 'node:stream/promises';
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
  /** Fails when the client goes away, and at its end when it is not the expected body. */
  readonly stream: Transform;
  /** SHA-256 of the whole body, base64; once the stream has ended. */
  readonly sha256: () => string;
  /** Lets the rest of the body run off, so that the client hears the answer. */
  readonly discard: () => void;
}

/**
 * Lets the request's body through as it is and hashes it; at most a few chunks are held. A body with
 * another SHA-256 (base64) than the expected one fails before a store can have all of it.
 */
export function hashBody(request: IncomingMessage, expected: string | undefined): HashedBody {
  const hash = createHash('sha256');
  let sha256 = '';
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
    flush(done) {
      sha256 = hash.digest('base64');
      const isExpected = expected === undefined || expected === sha256;
      done(isExpected ? null : new AppError('digest_mismatch'));
    },
  });
  request.setTimeout(idleMs, () => request.destroy(new Error('the client stopped sending')));
  // Also of a request that was over before it came here.
  finished(request, { writable: false }, (cause) => {
    if (cause) stream.destroy(cause);
  });
  // Whoever reads the stream hears its errors; nobody reads it any more after `discard`.
  stream.on('error', () => undefined);
  request.pipe(stream);
  return {
    stream,
    sha256: () => sha256,
    discard() {
      request.unpipe(stream);
      stream.destroy();
      request.resume();
    },
  };
}

/**
 * Reads the body to its end and keeps only its SHA-256 (base64).
 * Throws incomplete_body or digest_mismatch.
 */
export async function drainBody(
  request: IncomingMessage,
  expected: string | undefined,
): Promise<string> {
  const { stream, sha256 } = hashBody(request, expected);
  try {
    await end(stream.resume());
  } catch (cause) {
    throw cause instanceof AppError ? cause : new AppError('incomplete_body', { cause });
  }
  return sha256();
}
