import { randomBytes } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import test from 'ava';
import { z } from 'zod';
import { decoyPublicKey, hashToCurve25519, recipientIdOf } from '../../app/sharing/decoy-key.ts';
import { isPublicKey } from '../../app/sharing/public-key.ts';
import { readVectors } from '../support/client/vectors.ts';

const { decoy } = await readVectors(
  'sharing.json',
  z.object({
    decoy: z.object({
      key: z.string().transform((hex) => Buffer.from(hex, 'hex')),
      tenantId: z.string(),
      email: z.string(),
      publicKey: z.string(),
      sharerId: z.string(),
      recipientId: z.string(),
    }),
  }),
);

test('hashing to the curve gives the points of RFC 9380', async (t) => {
  const { dst, vectors } = await readVectors(
    'hash-to-curve-rfc9380.json',
    z.object({ dst: z.string(), vectors: z.array(z.object({ msg: z.string(), x: z.string() })) }),
  );
  t.is(vectors.length, 5);
  for (const { msg, x } of vectors) {
    t.is(bigEndianHex(hashToCurve25519(Buffer.from(msg), dst)), x);
  }
});

test('decoys and recipient ids match a second implementation', (t) => {
  t.is(decoyPublicKey(decoy.key, decoy.tenantId, decoy.email), decoy.publicKey);
  t.is(recipientIdOf(decoy.key, decoy.sharerId, decoy.email), decoy.recipientId);
});

test('a decoy depends only on key, tenant and e-mail address', (t) => {
  const of = (key = decoy.key, tenant = 'a', email = 'b@c') => decoyPublicKey(key, tenant, email);
  t.is(of(), of());
  const others = [of(randomBytes(32)), of(decoy.key, 'A'), of(decoy.key, 'a', 'b@d')];
  t.is(new Set([of(), ...others]).size, 4);
});

test('every decoy is a valid X25519 key in the subgroup of real keys', (t) => {
  const { Point } = ed25519;
  for (let round = 0; round < 50; round += 1) {
    const publicKey = decoyPublicKey(randomBytes(32), 'default', 'someone@example.org');
    t.true(isPublicKey(publicKey));
    const u = BigInt(`0x${bigEndianHex(Buffer.from(publicKey, 'base64'))}`);
    t.true(u < Point.Fp.ORDER);
    const y = Point.Fp.div(Point.Fp.sub(u, 1n), Point.Fp.add(u, 1n));
    // This throws for a point on the twist, where the curve has no such coordinate.
    t.true(Point.fromBytes(Point.Fp.toBytes(y)).isTorsionFree());
  }
});

function bigEndianHex(littleEndian: Uint8Array): string {
  return Buffer.from(littleEndian.toReversed()).toString('hex');
}
