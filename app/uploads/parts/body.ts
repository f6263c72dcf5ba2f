import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { AppError } from '../../errors/app-error.ts';
import { idleMs, limitIdle } from '../../http/requests/idle-clients.ts';

/** Returns the Content-Length of a part in bytes. Throws length_required. */
export function declaredLength(request: IncomingMessage): number {
  const header = request.headers['content-length'];
  if (header === undefined) {
    const details = [
      { path: 'Content-Length', message: 'must be the size of the part; none came' },
    ];
    throw new AppError('length_required', { details });
  }
  return Number(header);
}

/** Prepares the body of a part for reading, and disconnects a client that stops sending. */
export function watchBody(request: IncomingMessage): void {
  request.pause();
  request.on('error', () => undefined);
  limitIdle(request, idleMs);
}

/** Reads the body to its end, and returns only its SHA-256 (base64). Throws incomplete_body. */
export async function drainBody(request: IncomingMessage): Promise<string> {
  watchBody(request);
  const hash = createHash('sha256');
  request.on('data', (chunk: Buffer) => hash.update(chunk));
  try {
    await finished(request.resume(), { writable: false });
  } catch (cause) {
    throw new AppError('incomplete_body', { cause });
  }
  return hash.digest('base64');
}
