import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../errors.ts';

/** A client that sends nothing for this long is let go. */
const idleMs = 60_000;

/** The declared length of a part. Throws length_required. */
export function declaredLength(request: IncomingMessage): number {
  const header = request.headers['content-length'];
  if (header === undefined) throw new AppError('length_required');
  return Number(header);
}

/** The body of a part on its way, and its SHA-256 (base64) once it has passed. */
export interface HashedBody {
  readonly stream: Transform;
  sha256(): string;
}

/** Lets the request's body through as it is and hashes it; at most one chunk is held. */
export function hashBody(request: IncomingMessage): HashedBody {
  const hash = createHash('sha256');
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  request.setTimeout(idleMs, () => request.destroy(new Error('the client stopped sending')));
  pipeline(request, stream).catch(() => undefined);
  return { stream, sha256: () => hash.digest('base64') };
}

/** Reads the body to its end and keeps only its SHA-256 (base64). Throws incomplete_body. */
export async function drainBody(request: IncomingMessage): Promise<string> {
  const { stream, sha256 } = hashBody(request);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    await pipeline(stream, nowhere);
  } catch (cause) {
    throw new AppError('incomplete_body', { cause });
  }
  return sha256();
}
