import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { AppError } from '../../errors/app-error.ts';
import { assertContentType } from '../../http/bodies/content-type.ts';
import { metadataBodyBytes } from '../../http/bodies/json-body.ts';
import { limitIdle } from '../../http/requests/idle-clients.ts';

interface FormFile {
  /** The file name as the client sent it; undefined if the client sent no file name. */
  readonly fileName: string | undefined;
  /** The media type in lower case, without parameters. */
  readonly mimeType: string;
  /**
   * The content of the file. The iteration ends only after the whole form was found valid, and
   * throws if the form is invalid.
   */
  readonly bytes: AsyncIterable<Buffer>;
}

/** A multipart/form-data body of two parts: the field `document`, then the file `file`. */
interface Form {
  /**
   * The text of the field `document`. Rejects with multipart_required, invalid_form,
   * file_too_large or incomplete_body.
   */
  readonly document: Promise<string>;
  /** The file. Rejects with the same errors as `document`. */
  readonly file: Promise<FormFile>;
  /** Stops parsing, and drains the rest of the body so that the client can read the response. */
  discard(): void;
}

export interface FormLimits {
  /** The maximum size of the file in bytes. */
  readonly maxFileSize: number;
  /** Milliseconds after which a client that sends nothing is disconnected. */
  readonly idleMs: number;
}

/** Bytes of the body allowed in addition to the file: the field, part headers and boundaries. */
export const overheadBytes = metadataBodyBytes + 2 ** 16;
const maxHeaderBytes = 2 ** 13;
/**
 * Bytes that a client may still send after its form was refused; then the client is disconnected.
 */
const maxDrainedBytes = 100 * 2 ** 20;
const plainEncodings: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary']);

/**
 * Starts to read a form from a request body. Back-pressure applies: the file is read only as fast
 * as the caller consumes it.
 */
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
      // The promise `end`, which is awaited below, rejects with the reason for the failure.
    }
    await end.promise;
  }

  function parse(parser: BusboyInstance): void {
    parser.on('field', (_name, text, _isNameCut, isCut) => {
      if (expected !== 'document') return refuse('document', 'must be sent once, before the file');
      if (isCut) return refuse('document', 'must be at most 128 KiB');
      expected = 'file';
      document.resolve(text);
    });
    parser.on('file', (name, body, fileName, encoding, mimeType) => {
      body.on('error', () => undefined);
      if (name !== 'file') return refuse('form', 'must only have the fields document and file');
      if (expected !== 'file') return refuse('file', 'must be sent once, after the document');
      if (!plainEncodings.has(encoding))
        return refuse('file', 'must be sent without a transfer encoding');
      expected = 'end';
      stream = body;
      body.once('limit', () => fail(tooLarge(maxFileSize)));
      file.resolve({ fileName, mimeType, bytes: bytesOf(body) });
    });
    parser.on('partsLimit', () => refuse('form', 'must only have the fields document and file'));
    parser.on('finish', () => {
      if (expected !== 'end') refuse(expected, 'is required');
      else end.resolve();
    });
    parser.on('error', () => refuse('form', 'ends before its closing boundary'));
    request.pipe(parser);
  }

  /** Enforces the limits on size and idle time of the whole body. */
  function watch(): void {
    let room = maxFileSize + overheadBytes;
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > room) fail(tooLarge(maxFileSize, declared));
    request.on('data', (chunk: Buffer) => {
      room -= chunk.length;
      if (room < 0) fail(tooLarge(maxFileSize));
    });
    limitIdle(request, idleMs);
    finished(request, { writable: false }, (cause) => {
      if (cause !== undefined && cause !== null) fail(new AppError('incomplete_body', { cause }));
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
      let left = maxDrainedBytes;
      request.on('data', (chunk: Buffer) => {
        left -= chunk.length;
        if (left < 0) request.destroy();
      });
      request.resume();
    },
  };
}

/** Returns the error for a file that is too large. `came` is the size of the form, if declared. */
function tooLarge(maxFileSize: number, came?: number): AppError {
  const form = came === undefined ? 'more came' : `a form of ${came} bytes came`;
  const message = `must be at most ${maxFileSize} bytes; ${form}`;
  return new AppError('file_too_large', { details: [{ path: 'file', message }] });
}

/**
 * Creates the multipart parser. Throws multipart_required, or invalid_form if the Content-Type
 * header names no boundary.
 */
function createParser({ headers }: IncomingMessage, maxFileSize: number): BusboyInstance {
  const type = headers['content-type'] ?? '';
  assertContentType(headers, 'multipart/form-data');
  try {
    if (!/;[ \t]*boundary="?[^\s";]/i.test(type)) throw new TypeError('no boundary');
    return new Busboy({
      headers: { 'content-type': type },
      preservePath: true,
      isPartAFile: (name) => name !== 'document',
      limits: {
        parts: 2,
        fieldSize: metadataBodyBytes,
        fileSize: maxFileSize,
        headerSize: maxHeaderBytes,
      },
    });
  } catch (cause) {
    const details = [{ path: 'Content-Type', message: 'must name a boundary' }];
    throw new AppError('invalid_form', { details, cause });
  }
}
