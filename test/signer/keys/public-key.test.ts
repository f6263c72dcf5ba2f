import { generateKeyPairSync, hash } from 'node:crypto';
import test from 'ava';
import { createPublicKeyParser } from '../../../signer/pkcs11/keys/public-key.ts';

/** Generates a key and returns the DER of its public key, and its uncompressed point. */
function makeKey(namedCurve: string, pointBytes: number) {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return { spki, point: spki.subarray(-pointBytes) };
}

test('a P-256 point is parsed with or without its OCTET STRING', (t) => {
  const parse = createPublicKeyParser();
  const { spki, point } = makeKey('P-256', 65);
  for (const attribute of [Buffer.concat([Buffer.from([4, 65]), point]), point]) {
    const key = parse('audit', [attribute]);
    t.deepEqual(key?.spki, spki);
    t.is(key?.keyId, hash('sha256', spki).slice(0, 32));
  }
});

test('a point of another curve or encoding is not parsed', (t) => {
  const parse = createPublicKeyParser();
  const { point } = makeKey('P-256', 65);
  const { point: larger } = makeKey('P-384', 97);
  const compressed = Buffer.concat([
    Buffer.from([2 + ((point.at(-1) ?? 0) % 2)]),
    point.subarray(1, 33),
  ]);
  for (const attribute of [larger, compressed, Buffer.alloc(65), Buffer.alloc(0)])
    t.is(parse('audit', [attribute]), undefined);
  t.is(parse('token', []), undefined);
});
