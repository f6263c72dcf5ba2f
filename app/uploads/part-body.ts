import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
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

/** The body of a part, hashed as it passes through the request's own stream. */
export interface HashedBody {
  /** SHA-256 of the whole body, base64. Call it once, when all of it has passed. */
  readonly sha256: () => string;
  /** Lets the rest of the body run off, so that the client hears the answer. */
  readonly discard: () => void;
}

/** Hashes whatever is read of the request from now on; reading it is up to the caller. */
export function hashBody(request: IncomingMessage): HashedBody {
  const hash = createHash('sha256');
  request.pause();
  request.on('data', (chunk: Buffer) => hash.update(chunk));
  request.on('error', () => undefined);
  // Node would hang up on who has sent everything and waits for a slow answer.
  request.once('end', () => request.setTimeout(0));
  request.setTimeout(idleMs, () => {
    request.destroy(new Error('the client stopped sending'));
  });
  return {
    sha256: () => hash.digest('base64'),
    discard() {
      request.unpipe();
      request.resume();
    },
  };
}

/** Reads the body to its end and keeps only its SHA-256 (base64). Throws incomplete_body. */
export async function drainBody(request: IncomingMessage): Promise<string> {
  const body = hashBody(request);
  try {
    await finished(request.resume(), { writable: false });
  } catch (cause) {
    throw new AppError('incomplete_body', { cause });
  }
  return body.sha256();
}
