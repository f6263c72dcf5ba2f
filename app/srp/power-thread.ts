import { createDiffieHellman } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { generator, primeBytes } from './group.ts';

/**
 * A power to compute: base^exponent mod N, both big-endian, for 1 < base < N − 1. The reply is the
 * power as 384 bytes, big-endian.
 */
export interface PowerRequest {
  readonly base: Uint8Array;
  readonly exponent: Uint8Array;
}

/**
 * OpenSSL tests here for some seconds whether N is a safe prime. Each use needs no key objects, and
 * so no second power for a public key that nobody asks for.
 */
const exchange = createDiffieHellman(primeBytes, Number(generator));

parentPort?.on('message', ({ base, exponent }: PowerRequest) => {
  exchange.setPrivateKey(exponent);
  exponent.fill(0);
  const secret = exchange.computeSecret(base);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(secret);
  secret.fill(0);
});
