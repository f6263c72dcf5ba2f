import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { AppError } from '../../errors/app-error.ts';
import { limitIdle } from '../../http/requests/idle-clients.ts';

interface FormFile {
  /** As sent; undefined where none was. */
  readonly fileName: string | undefined;
  /** In lower case, without parameters. */
  readonly mimeType: string;
  /** Ends only once the form has ended as it must; otherwise it throws what the form does. */
  readonly bytes: AsyncIterable<Buffer>;
}

/** A multipart/form-data body of two parts: the field `document`, then the file `file`. */
interface Form {
  /** The text of the field. Rejects with multipart_required, invalid_form, file_too_large or incomplete_body. */
  readonly document: Promise<string>;
  /** Rejects likewise. */
  readonly file: Promise<FormFile>;
  /** Gives the form up: the rest of the body runs off, so that the client hears the answer. */
  discard(): void;
}

export interface FormLimits {
  /** Bytes that the file may have. */
  readonly maxFileSize: number;
  /** A client that sends nothing for this long is let go. */
  readonly idleMs: number;
}

const maxFieldBytes = 2 ** 20;
/** Room for the field, the headers of the parts and what is between them. */
const overheadBytes = maxFieldBytes + 2 ** 16;
const maxHeaderBytes = 2 ** 13;
/** A client that goes on sending after it was refused is let go. */
const runOffBytes = 100 * 2 ** 20;
const plainEncodings: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary']);

/** Begins to read the form; the file is read no faster than it is asked for. */
export function readForm(request: IncomingMessage, { maxFileSize, idleMs }: FormLimits): Form {
  const document = Promise.withResolvers<string>();
  const file = Promise.withResolvers<FormFile>();
  const end = Promise.withResolvers<void>();
  let expected: 'document' | 'file' | 'end' = 'document';
  let stream: BusboyFileStream | undefined;

  function fail(error: AppError): void {
    request.unpipe();
    for (const part of [document, file, end]) part.reject(error);
    stream?.destroy(error);
  }

  function refuse(path: string, message: string): void {
    fail(new AppError('invalid_form', { details: [{ path, message }] }));
  }

  async function* bytesOf(body: BusboyFileStream): AsyncGenerator<Buffer> {
    try {
      yield* body as AsyncIterable<Buffer>;
    } catch {
      // The form says why.
    }
    await end.promise;
  }

  function parse(parser: BusboyInstance): void {
    parser.on('field', (_name, text, _isNameCut, isCut) => {
      if (expected !== 'document') return refuse('document', 'must come once, before the file');
      if (isCut) return refuse('document', 'must be at most 1 MiB');
      expected = 'file';
      document.resolve(text);
    });
    parser.on('file', (name, body, fileName, encoding, mimeType) => {
      body.on('error', () => undefined);
      if (name !== 'file') return refuse('form', 'must have no fields but document and file');
      if (expected !== 'file') return refuse('file', 'must come once, after the document');
      if (!plainEncodings.has(encoding)) return refuse('file', 'must be sent as it is');
      expected = 'end';
      stream = body;
      body.once('limit', () => fail(new AppError('file_too_large')));
      file.resolve({ fileName, mimeType, bytes: bytesOf(body) });
    });
    parser.on('partsLimit', () => refuse('form', 'must have no fields but document and file'));
    parser.on('finish', () => {
      if (expected !== 'end') refuse(expected, 'is required');
      else end.resolve();
    });
    parser.on('error', () => refuse('form', 'ends before its closing boundary'));
    request.pipe(parser);
  }

  /** The whole body, whatever its parts. */
  function watch(): void {
    let room = maxFileSize + overheadBytes;
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > room) fail(new AppError('file_too_large'));
    request.on('data', (chunk: Buffer) => {
      room -= chunk.length;
      if (room < 0) fail(new AppError('file_too_large'));
    });
    limitIdle(request, idleMs);
    finished(request, { writable: false }, (cause) => {
      if (cause) fail(new AppError('incomplete_body', { cause }));
    });
  }

  for (const { promise } of [document, file, end]) promise.catch(() => undefined);
  watch();
  try {
    parse(createParser(request, maxFileSize));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    fail(error);
  }

  return {
    document: document.promise,
    file: file.promise,
    discard() {
      fail(new AppError('incomplete_body'));
      let left = runOffBytes;
      request.on('data', (chunk: Buffer) => {
        left -= chunk.length;
        if (left < 0) request.destroy();
      });
      request.resume();
    },
  };
}

/** Throws multipart_required, or invalid_form where no boundary is named. */
function createParser({ headers }: IncomingMessage, maxFileSize: number): BusboyInstance {
  const type = headers['content-type'] ?? '';
  const isForm = /^multipart\/form-data[ \t]*(?:;|$)/i.test(type);
  const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity';
  if (!isForm || !isPlain) throw new AppError('multipart_required');
  try {
    if (!/;[ \t]*boundary="?[^\s";]/i.test(type)) throw new TypeError('no boundary');
    return new Busboy({
      headers: { 'content-type': type },
      preservePath: true,
      isPartAFile: (name) => name !== 'document',
      limits: {
        parts: 2,
        fieldSize: maxFieldBytes,
        fileSize: maxFileSize,
        headerSize: maxHeaderBytes,
      },
    });
  } catch (cause) {
    const details = [{ path: 'Content-Type', message: 'must name a boundary' }];
    throw new AppError('invalid_form', { details, cause });
  }
}
