import { Readable } from 'node:stream';
import { cutParts } from './cut-parts.ts';
import type { ObjectStore } from './interface/object-store.ts';

/** Where to send the bytes of a stream, and how much of it is one part, in bytes. */
interface StreamTarget {
  readonly key: string;
  readonly uploadId: string;
  readonly partBytes: number;
}

/** A part of a stream as the store acknowledged it. */
export interface SentPart {
  readonly partNumber: number;
  /** Size in bytes. */
  readonly size: number;
  readonly etag: string;
  /** SHA-256 in base64. */
  readonly sha256: string;
}

const pieceBytes = 2 ** 18;

/**
 * Sends the bytes of a stream as parts of an open upload, one after another. Two parts are in
 * memory: the next one is read while the present one is sent. If it fails, no part is under way any
 * more, so that the upload can be aborted. Throws what `putPart` and `chunks` throw.
 */
export async function sendStream(
  store: ObjectStore,
  { key, uploadId, partBytes }: StreamTarget,
  chunks: AsyncIterable<Buffer>,
): Promise<SentPart[]> {
  const stop = new AbortController();
  const send = async (partNumber: number, bytes: Buffer): Promise<SentPart> => {
    const part = { key, uploadId, partNumber, size: bytes.length };
    const body = Readable.from(piecesOf(bytes), { objectMode: false });
    const sent = await store.putPart(part, body, { signal: stop.signal });
    return { partNumber, size: bytes.length, ...sent };
  };
  const parts = cutParts(chunks, partBytes);
  const sent: SentPart[] = [];
  let sending: Promise<SentPart> | undefined;
  try {
    for (let part = await parts.next(); part.done !== true;) {
      sending = send(sent.length + 1, part.value);
      const [done, next] = await Promise.all([sending, parts.next()]);
      sent.push(done);
      part = next;
    }
    return sent;
  } catch (error) {
    // Stop sending the part first: aborting the multipart upload would leave behind a part that is
    // still being sent.
    stop.abort(error);
    await sending?.catch(() => undefined);
    throw error;
  }
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    yield bytes.subarray(start, start + pieceBytes);
  }
}
