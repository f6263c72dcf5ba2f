import { Transform, finished } from 'node:stream';
import type { Readable, TransformCallback } from 'node:stream';
import type { PutPartOptions } from './object-store.ts';
import { StorageError } from './storage-error.ts';

type Push = (chunk: Buffer | string) => unknown;

/** How the bytes are put on the wire. */
export interface BodyEncoding {
  write(chunk: Buffer, push: Push): unknown;
  end(push: Push): unknown;
}

const identity: BodyEncoding = {
  write: (chunk, push) => push(chunk),
  end: () => {},
};

/**
 * Lets exactly `size` bytes through. The last of them leave only once the source has ended, so that a receiver that
 * counts has not got all of a body that turns out too long.
 */
class ExactBody extends Transform {
  #missing: number;
  #last: Buffer | undefined;
  readonly #encoding: BodyEncoding;
  readonly #beforeEnd: () => void;
  readonly #push: Push = (chunk) => this.push(chunk);

  constructor(size: number, encoding: BodyEncoding, beforeEnd: () => void) {
    super();
    this.#missing = size;
    this.#encoding = encoding;
    this.#beforeEnd = beforeEnd;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#missing -= chunk.length;
    if (this.#missing < 0) {
      done(new StorageError('body_too_long'));
      return;
    }
    if (this.#missing > 0) this.#encoding.write(chunk, this.#push);
    else if (chunk.length > 0) this.#last = chunk;
    done();
  }

  override _flush(done: TransformCallback): void {
    if (this.#missing > 0) {
      done(new StorageError('body_incomplete'));
      return;
    }
    try {
      this.#beforeEnd();
    } catch (error) {
      done(error as Error);
      return;
    }
    if (this.#last) this.#encoding.write(this.#last, this.#push);
    this.#encoding.end(this.#push);
    done();
  }
}

export interface ExactBodyOptions extends PutPartOptions {
  encoding?: BodyEncoding;
}

/**
 * `body` as a stream that ends only after exactly `size` bytes and otherwise fails: body_incomplete (also when `body`
 * breaks), body_too_long, the reason of `signal`, or what `beforeEnd` throws. Destroying it lets go of `body` without destroying that.
 */
export function exactBody(
  body: Readable,
  size: number,
  { signal, beforeEnd = () => undefined, encoding = identity }: ExactBodyOptions = {},
): Readable {
  const exact = new ExactBody(size, encoding, beforeEnd);
  const onAbort = () => exact.destroy(signal?.reason as Error);
  exact.once('close', () => {
    body.unpipe(exact);
    signal?.removeEventListener('abort', onAbort);
  });
  finished(body, { writable: false }, (cause) => {
    if (cause) exact.destroy(new StorageError('body_incomplete', { cause }));
  });
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort);
  body.pipe(exact);
  return exact;
}
