import type { Readable } from 'node:stream';
import { AppError } from '../../errors/app-error.ts';
import type { SentBytes } from '../../http/requests/sent-bytes.ts';
import type { StreamedAnswer } from '../../http/responses/streamed-answer.ts';
import type { ByteRange } from '../../storage/interface/object-store.ts';
import { etagFor, evaluate, type FileRequest, type Wanted } from './range-request.ts';

/** A file that can be sent whole, or a range of it. */
interface OfferedFile {
  readonly fileName: string;
  /** Size in bytes. */
  readonly size: number;
  /** SHA3-256 of the file in hex, which is its entity tag. */
  readonly hash: string;
  /** The part to send, if it is known already. */
  readonly wanted?: Wanted;
  readonly open: (range: ByteRange | undefined, signal: AbortSignal) => Promise<Readable>;
  /** Called once, if the file was opened, when the response is over. */
  readonly onSent?: (sent: SentBytes) => void;
}

interface Reply {
  set(name: string, value: string): void;
}

/**
 * Returns the response to a request for a file or one range of it. Throws precondition_failed,
 * range_not_satisfiable, or invalid_request for malformed entity tags.
 */
export function answerWithFile(
  request: FileRequest,
  reply: Reply,
  file: OfferedFile,
): StreamedAnswer {
  const { fileName, size, hash, open, onSent } = file;
  const etag = etagFor(hash);
  const headers = { ETag: etag, 'Accept-Ranges': 'bytes', 'Cache-Control': 'private, no-cache' };
  const wanted = file.wanted ?? evaluate(request, etag, size);
  if (wanted === 'beyond') {
    reply.set('Content-Range', `bytes */${size}`);
    throw new AppError('range_not_satisfiable');
  }
  if (wanted === 'nothing') return { status: 304, headers };
  const range = wanted === 'all' ? undefined : wanted;
  const body = {
    fileName,
    length: range === undefined ? size : range.last - range.first + 1,
    open: (signal: AbortSignal) => open(range, signal),
    ...(onSent === undefined ? {} : { onSent }),
  };
  if (range === undefined) return { status: 200, headers, body };
  const contentRange = `bytes ${range.first}-${range.last}/${size}`;
  return { status: 206, headers: { ...headers, 'Content-Range': contentRange }, body };
}
