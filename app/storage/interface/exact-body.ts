import { createHash } from 'node:crypto';
import { Readable, finished } from 'node:stream';
import type { PutPartOptions } from './object-store.ts';
import { StorageError } from './storage-error.ts';

type Push = (chunk: Buffer | string) => unknown;

/** Encodes the bytes of a body for the wire. */
export interface BodyEncoding {
  write(chunk: Buffer, push: Push): unknown;
  /** Ends the encoding. `sha256` is the digest of the whole body in base64. */
  end(push: Push, sha256: string): unknown;
}

const identity: BodyEncoding = {
  write: (chunk, push) => push(chunk),
  end: () => {},
};

const bufferBytes = 256 * 1024;

interface ExactBodyOptions extends PutPartOptions {
  readonly encoding?: BodyEncoding | undefined;
}

/**
 * A stream of a body that ends only after exactly `size` bytes. Otherwise it fails: with
 * body_incomplete (also if the source fails), body_too_long, the reason of `signal`, or the error
 * that `beforeEnd` throws. The last chunk is held back until the source has ended, so that a
 * receiver which counts bytes never accepts a body that turns out too long. Destroying the stream
 * detaches the source without destroying it.
 */
export class ExactBody extends Readable {
  readonly #source: Readable;
  readonly #encoding: BodyEncoding;
  readonly #beforeEnd: (sha256: string) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #hash = createHash('sha256');
  readonly #forget: () => void;
  #missing: number;
  #last: Buffer | undefined;
  #sha256: string | undefined;

  constructor(source: Readable, size: number, options: ExactBodyOptions = {}) {
    super({ highWaterMark: bufferBytes });
    const { signal, beforeEnd = () => undefined, encoding = identity } = options;
    this.#source = source;
    this.#missing = size;
    this.#encoding = encoding;
    this.#beforeEnd = beforeEnd;
    this.#signal = signal;
    source.pause();
    source.on('data', this.#take);
    this.#forget = finished(source, { writable: false }, (cause) => {
      if (cause === undefined || cause === null) this.#end();
      else this.destroy(new StorageError('body_incomplete', { cause }));
    });
    if (signal?.aborted === true) this.#abort();
    else signal?.addEventListener('abort', this.#abort);
  }

  /** SHA-256 of the whole body in base64. Throws before the body has ended. */
  get sha256(): string {
    if (this.#sha256 === undefined) throw new Error('the body has not ended');
    return this.#sha256;
  }

  override _read(): void {
    this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#source.off('data', this.#take);
    this.#source.pause();
    this.#forget();
    this.#signal?.removeEventListener('abort', this.#abort);
    done(error);
  }

  readonly #push: Push = (chunk) => {
    if (!this.push(chunk)) this.#source.pause();
  };

  readonly #take = (chunk: Buffer): void => {
    this.#missing -= chunk.length;
    if (this.#missing < 0) {
      this.destroy(new StorageError('body_too_long'));
      return;
    }
    this.#hash.update(chunk);
    if (this.#missing > 0) this.#encoding.write(chunk, this.#push);
    else if (chunk.length > 0) this.#last = chunk;
  };

  readonly #abort = (): void => {
    this.destroy(this.#signal?.reason as Error);
  };

  #end(): void {
    if (this.destroyed) return;
    if (this.#missing > 0) {
      this.destroy(new StorageError('body_incomplete'));
      return;
    }
    const sha256 = this.#hash.digest('base64');
    this.#sha256 = sha256;
    try {
      this.#beforeEnd(sha256);
    } catch (error) {
      this.destroy(error as Error);
      return;
    }
    if (this.#last !== undefined) this.#encoding.write(this.#last, this.#push);
    this.#encoding.end(this.#push, sha256);
    this.push(null);
  }
}
