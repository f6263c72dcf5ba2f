import type pkcs11js from 'pkcs11js';
import { Pkcs11Error } from './pkcs11-error.ts';

/**
 * Called after each PKCS#11 function with the function's name, duration in seconds and return
 * value.
 */
export type Observer = (fn: string, seconds: number, returnValue: string) => void;

/** Measures each call and turns the errors of pkcs11js into Pkcs11Error. */
export class MeasuredApi {
  readonly #ck: pkcs11js.PKCS11;
  readonly #observe: Observer;

  constructor(ck: pkcs11js.PKCS11, observe: Observer) {
    this.#ck = ck;
    this.#observe = observe;
  }

  call<T>(fn: string, run: (ck: pkcs11js.PKCS11) => T): T {
    const startedAt = performance.now();
    try {
      const result = run(this.#ck);
      this.#observe(fn, secondsSince(startedAt), 'CKR_OK');
      return result;
    } catch (error) {
      throw this.#fail(fn, startedAt, error);
    }
  }

  async callAsync<T>(fn: string, run: (ck: pkcs11js.PKCS11) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      const result = await run(this.#ck);
      this.#observe(fn, secondsSince(startedAt), 'CKR_OK');
      return result;
    } catch (error) {
      throw this.#fail(fn, startedAt, error);
    }
  }

  #fail(fn: string, startedAt: number, cause: unknown): unknown {
    const returnValue = /CKR_\w+/.exec(String(cause))?.[0];
    if (returnValue === undefined) return cause;
    this.#observe(fn, secondsSince(startedAt), returnValue);
    return new Pkcs11Error(fn, returnValue, { cause });
  }
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}
