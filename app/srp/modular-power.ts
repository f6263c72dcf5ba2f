import { DiffieHellman } from 'node:crypto';
import { group, pad } from './group.ts';

/**
 * Modular exponentiation by OpenSSL, several times faster than BigInt and constant time in the
 * exponent: base^exponent mod N is the Diffie–Hellman secret of the public value `base` and the
 * private value `exponent`.
 *
 * The object of the named group hides the method that sets its private value, but has it. One of
 * `createDiffieHellman` shows it, and tests for seconds whether N is a safe prime. A key of
 * `createPrivateKey` computes its public value, which is a second power that nobody asks for.
 */
const exchange = group as DiffieHellman;
const setPrivateKey: (this: DiffieHellman, exponent: Uint8Array) => void =
  DiffieHellman.prototype.setPrivateKey;

/** An exponent that is no secret, and replaces each one that is. */
const one = Buffer.of(1);

/**
 * Returns base^exponent mod N as 384 bytes, big-endian, for 1 < base < N − 1 and a positive
 * exponent, big-endian. Takes about a millisecond of the calling thread. Throws for the bases 0, 1
 * and N − 1, which OpenSSL refuses. Zeroes every copy of the exponent except the given one; callers
 * must zero the result if it is secret.
 */
export function power(base: bigint, exponent: Uint8Array): Buffer {
  setPrivateKey.call(exchange, exponent);
  try {
    return exchange.computeSecret(pad(base));
  } finally {
    setPrivateKey.call(exchange, one);
  }
}
