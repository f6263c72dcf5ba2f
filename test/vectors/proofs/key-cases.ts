import { createPublicKey } from 'node:crypto';
import { p256, p384 } from '@noble/curves/nist.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { malformed, wrongSignature, type ProofCase } from './case.ts';
import { keyIdOf, keys, proof, prove, type CorpusKey } from './signing.ts';

const text = proof.entryCanonical;
const secret = keys.first.secret;
const mismatch = wrongSignature('key_id_mismatch');
const untrusted = wrongSignature('key_untrusted');
const invalid = wrongSignature('signature_invalid');

/** Creates a case of the valid proof with another public key, whose own id it has by default. */
function withKey(
  name: string,
  description: string,
  publicKey: Uint8Array,
  {
    keyId = keyIdOf(publicKey),
    signature = Buffer.from(proof.hsmSignature, 'base64'),
  }: { readonly keyId?: string; readonly signature?: Uint8Array } = {},
  expected: Pick<ProofCase, 'expected' | 'reason'> = untrusted,
): ProofCase {
  return {
    name: `key-${name}`,
    description,
    ...expected,
    proof: {
      ...proof,
      hsmSignature: Buffer.from(signature).toString('base64'),
      hsmKeyId: keyId,
      publicKey: Buffer.from(publicKey).toString('base64'),
    },
  };
}

function by(name: string, description: string, key: CorpusKey, claimed: CorpusKey | undefined) {
  const { hsmKeyId, publicKey } = claimed === undefined ? prove(text, key) : prove(text, claimed);
  return {
    name: `key-${name}`,
    description,
    ...(claimed === undefined ? untrusted : invalid),
    proof: { ...prove(text, key), hsmKeyId, publicKey },
  };
}

const der = Buffer.from(keys.first.publicKey, 'base64');
const point = der.subarray(26);
const compressed = spki(
  '3039301306072a8648ce3d020106082a8648ce3d030107032200',
  p256.getPublicKey(secret),
);
const hybrid = Buffer.from(der);
hybrid.writeUInt8(6 + (point.readUInt8(64) & 1), 26);

function spki(prefix: string, point: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(prefix, 'hex'), point]);
}

/** Returns an RSA key with an arbitrary modulus, whose factors nobody knows or needs. */
function rsaKey(bytes: number): Buffer {
  const modulus = Buffer.alloc(bytes, 0xa5).toString('base64url');
  const key = createPublicKey({ key: { kty: 'RSA', n: modulus, e: 'AQAB' }, format: 'jwk' });
  return key.export({ type: 'spki', format: 'der' });
}

const options = { prehash: false, lowS: true, format: 'der' } as const;
const digest = sha3_256(Buffer.from(text));

/** Proofs with a wrong or untrusted key. */
export const keyCases: ProofCase[] = [
  by('unknown', 'Rightly signed by a key that nobody vouches for', keys.unknown, undefined),
  by('token', 'Rightly signed by a key that the vault has for tokens', keys.token, undefined),
  by(
    'unknown-as-first',
    'An unknown key signed in the name of a trusted one',
    keys.unknown,
    keys.first,
  ),
  by('second-as-first', 'A trusted key signed in the name of another', keys.second, keys.first),
  withKey(
    'second',
    'Another trusted key, which did not sign it',
    Buffer.from(keys.second.publicKey, 'base64'),
    {},
    invalid,
  ),
  {
    name: 'key-id-of-first',
    description: 'Rightly signed by an unknown key, with the id of a trusted one',
    ...mismatch,
    proof: { ...prove(text, keys.unknown), hsmKeyId: keys.first.keyId },
  },
  {
    name: 'key-id-of-unknown',
    description: 'Rightly signed by a trusted key, with the id of an unknown one',
    ...mismatch,
    proof: { ...proof, hsmKeyId: keys.unknown.keyId },
  },
  {
    name: 'key-id-zero',
    description: 'The key id is all zeros',
    ...mismatch,
    proof: { ...proof, hsmKeyId: '0'.repeat(32) },
  },
  {
    name: 'key-id-whole',
    description: 'The key id is the whole fingerprint',
    ...malformed,
    proof: { ...proof, hsmKeyId: keys.first.keyId.repeat(2) },
  },
  withKey(
    'compressed',
    'The trusted key with its point compressed: another fingerprint',
    compressed,
  ),
  withKey(
    'compressed-same-id',
    'The same, with the id of the trusted key',
    compressed,
    { keyId: proof.hsmKeyId },
    mismatch,
  ),
  withKey('hybrid', 'The trusted key with its point in hybrid form', hybrid),
  withKey(
    'hybrid-same-id',
    'The same, with the id of the trusted key',
    hybrid,
    { keyId: proof.hsmKeyId },
    mismatch,
  ),
  withKey('bare-point', 'The point of the trusted key alone', point),
  withKey(
    'byte-more',
    'A byte after the trusted key, with its id',
    Buffer.concat([der, Buffer.of(0)]),
    { keyId: proof.hsmKeyId },
    mismatch,
  ),
  withKey(
    'off-curve',
    'A point that is not on the curve',
    spki(der.subarray(0, 27).toString('hex'), Buffer.alloc(64, 1)),
  ),
  withKey(
    'infinity',
    'The point at infinity',
    spki('3019301306072a8648ce3d020106082a8648ce3d030107030200', Buffer.of(0)),
  ),
  withKey(
    'p384',
    'A key of P-384',
    spki('3076301006072a8648ce3d020106052b81040022036200', p384.getPublicKey(secretOf(48), false)),
  ),
  withKey(
    'secp256k1',
    'A key of secp256k1, rightly signed',
    spki(
      '3056301006072a8648ce3d020106052b8104000a034200',
      secp256k1.getPublicKey(secretOf(32), false),
    ),
    {
      signature: secp256k1.sign(digest, secretOf(32), options),
    },
  ),
  withKey(
    'secp256k1-same-id',
    'The same, with the id of the trusted key',
    spki(
      '3056301006072a8648ce3d020106052b8104000a034200',
      secp256k1.getPublicKey(secretOf(32), false),
    ),
    {
      keyId: proof.hsmKeyId,
      signature: secp256k1.sign(digest, secretOf(32), options),
    },
    mismatch,
  ),
  withKey('rsa', 'A key of RSA with 2,048 bits', rsaKey(256)),
  withKey(
    'rsa-4096',
    'A key of RSA with 4,096 bits: more than 512 bytes',
    rsaKey(512),
    {},
    malformed,
  ),
  withKey('ed25519', 'A key of Ed25519', spki('302a300506032b6570032100', Buffer.alloc(32, 9))),
  withKey('512-bytes', 'As many bytes as a key may have, of no key', Buffer.alloc(512)),
  withKey('513-bytes', 'One byte more', Buffer.alloc(513), {}, malformed),
  {
    name: 'key-pem',
    description: 'The key in PEM',
    ...malformed,
    proof: {
      ...proof,
      publicKey: `-----BEGIN PUBLIC KEY-----\n${proof.publicKey}\n-----END PUBLIC KEY-----\n`,
    },
  },
];

function secretOf(bytes: number): Uint8Array {
  return Buffer.alloc(bytes, 0x42);
}
