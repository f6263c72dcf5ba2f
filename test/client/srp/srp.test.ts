import { sha1 } from '@noble/hashes/legacy.js';
import { hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { rfc5054Group3072 } from '../../../client/srp/group.ts';
import {
  computeMultiplier,
  computePremasterSecret,
  computePublicValue,
  computeScrambler,
  computeVerifier,
  serviceSrp,
} from '../../../client/srp/srp.ts';
import { readVectors } from '../../support/client/vectors.ts';

const Integer = z.string().transform((hex) => BigInt(`0x${hex}`));
const Vector = z.object({
  N: Integer,
  k: Integer,
  x: Integer,
  v: Integer,
  a: Integer,
  A: Integer,
  B: Integer,
  u: Integer,
  S: Integer,
});

test('the SRP core computes the values of RFC 5054 appendix B', async (t) => {
  const vector = await readVectors('srp-rfc5054.json', Vector);
  const { a, A, B, x } = vector;
  const parameters = { group: { N: vector.N, g: 2n, byteLength: 128 }, hash: sha1 };

  t.is(computeMultiplier(parameters), vector.k);
  t.is(computeVerifier(parameters, x), vector.v);
  t.is(computePublicValue(parameters, a), A);
  t.is(computeScrambler(parameters, A, B), vector.u);
  t.is(computePremasterSecret(parameters, { a, A, B, x }), vector.S);
});

test('a server value that is 0 modulo N is refused', (t) => {
  const { N } = rfc5054Group3072;
  for (const B of [0n, N, 2n * N, N + 1n]) {
    t.throws(() => computePremasterSecret(serviceSrp, { a: 3n, A: 8n, B, x: 5n }), {
      code: 'invalid_public_value',
    });
  }
});

test('a scrambling parameter of 0 is refused', (t) => {
  const parameters = { group: rfc5054Group3072, hash: () => hexToBytes('00'.repeat(32)) };
  t.throws(() => computePremasterSecret(parameters, { a: 3n, A: 8n, B: 9n, x: 5n }), {
    code: 'invalid_public_value',
  });
});
