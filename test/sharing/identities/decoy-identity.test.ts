import { randomBytes } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import test from 'ava';
import { z } from 'zod';
import {
  decoyIdentity,
  hashToCurve25519,
  randomSigningKey,
  recipientIdOf,
} from '../../../app/identities/decoy-identity.ts';
import { isPublicKey, isSigningKey } from '../../../app/identities/public-identity.ts';
import { readVectors } from '../../support/client/vectors.ts';

const { decoy } = await readVectors(
  'sharing.json',
  z.object({
    decoy: z.object({
      key: z.string().transform((hex) => Buffer.from(hex, 'hex')),
      tenantId: z.string(),
      email: z.string(),
      publicKey: z.string(),
      signingKey: z.string(),
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
  const { publicKey, signingKey } = decoy;
  t.deepEqual(decoyIdentity(decoy.key, decoy.tenantId, decoy.email), { publicKey, signingKey });
  t.is(recipientIdOf(decoy.key, decoy.sharerId, decoy.email), decoy.recipientId);
});

test('a decoy depends only on key, tenant and e-mail address', (t) => {
  const of = (key = decoy.key, tenant = 'a', email = 'b@c') =>
    JSON.stringify(decoyIdentity(key, tenant, email));
  t.is(of(), of());
  const others = [of(randomBytes(32)), of(decoy.key, 'A'), of(decoy.key, 'a', 'b@d')];
  t.is(new Set([of(), ...others]).size, 4);
});

test('every decoy has a valid X25519 key in the subgroup of real keys', (t) => {
  const { Point } = ed25519;
  for (let round = 0; round < 50; round += 1) {
    const { publicKey } = decoyIdentity(randomBytes(32), 'default', 'someone@example.org');
    t.true(isPublicKey(publicKey));
    const u = BigInt(`0x${bigEndianHex(Buffer.from(publicKey, 'base64'))}`);
    t.true(u < Point.Fp.ORDER);
    const y = Point.Fp.div(Point.Fp.sub(u, 1n), Point.Fp.add(u, 1n));
    // This throws for a point on the twist, where the curve has no such coordinate.
    t.true(Point.fromBytes(Point.Fp.toBytes(y)).isTorsionFree());
  }
});

test('every signing key of a decoy is a valid Ed25519 key, and no other point is taken', (t) => {
  for (let round = 0; round < 50; round += 1) {
    t.true(isSigningKey(decoyIdentity(randomBytes(32), 'default', 'a@b').signingKey));
    t.true(isSigningKey(randomSigningKey()));
  }
  const { Point } = ed25519;
  const ofOrder8 = 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a';
  const mixed = Point.BASE.add(Point.fromHex(ofOrder8));
  for (const bytes of [Buffer.from(ofOrder8, 'hex'), mixed.toBytes(), Buffer.alloc(32, 0xff)]) {
    t.false(isSigningKey(Buffer.from(bytes).toString('base64')));
  }
  for (const length of [0, 31, 33]) {
    t.false(isSigningKey(Buffer.alloc(length, 1).toString('base64')), String(length));
  }
});

function bigEndianHex(littleEndian: Uint8Array): string {
  return Buffer.from(littleEndian.toReversed()).toString('hex');
}
