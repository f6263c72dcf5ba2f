import { hash } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
import { malformed, valid, wrongSignature, type ProofCase } from './case.ts';
import { keys, proof, sign } from './signing.ts';

const der = Buffer.from(proof.hsmSignature, 'base64');
const { r, s } = p256.Signature.fromBytes(der, 'der');
const n = p256.Point.Fn.ORDER;

function withSignature(
  name: string,
  description: string,
  hsmSignature: Buffer | string,
  expected: Pick<ProofCase, 'expected' | 'reason'> = wrongSignature('signature_invalid'),
): ProofCase {
  const text = typeof hsmSignature === 'string' ? hsmSignature : hsmSignature.toString('base64');
  return {
    name: `signature-${name}`,
    description,
    ...expected,
    proof: { ...proof, hsmSignature: text },
  };
}

function sequence(...integers: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(integers));
}

function tagged(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.of(tag, content.length), content]);
}

/** Encodes an integer in DER, with a zero byte in front if the first bit is set. */
function integer(value: bigint): Buffer {
  const digits = value.toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return tagged(2, bytes.readUInt8(0) > 0x7f ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
}

function bytesOf(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
}

const content = der.subarray(2);
const base64 = proof.hsmSignature;
const firstLine = base64.slice(0, 64);

/** Texts that are no signature of the entry by its key, or not in the canonical form of one. */
export const signatureCases: ProofCase[] = [
  withSignature('low-s', 's below half of the order', sequence(integer(r), integer(s)), valid),
  withSignature('high-s', 'The twin with a high s', sequence(integer(r), integer(n - s)), valid),
  withSignature(
    'p1363',
    'r and s, 32 bytes each, without DER',
    Buffer.concat([bytesOf(r), bytesOf(s)]),
  ),
  withSignature('byte-after', 'A byte after the sequence', Buffer.concat([der, Buffer.of(0)])),
  withSignature(
    'byte-within',
    'A byte in the sequence after s',
    tagged(0x30, Buffer.concat([content, Buffer.of(0)])),
  ),
  withSignature('third-integer', 'A third integer', sequence(integer(r), integer(s), integer(1n))),
  withSignature('one-integer', 'r alone', sequence(integer(r))),
  withSignature('empty-sequence', 'A sequence of nothing', sequence()),
  withSignature(
    'leading-zero-r',
    'r with a zero byte too many',
    sequence(tagged(2, Buffer.concat([Buffer.of(0), integer(r).subarray(2)])), integer(s)),
  ),
  withSignature(
    'leading-zero-s',
    's with a zero byte too many',
    sequence(integer(r), tagged(2, Buffer.concat([Buffer.of(0), integer(s).subarray(2)]))),
  ),
  withSignature(
    'negative-high-s',
    'A high s without its zero byte, which makes it negative',
    sequence(integer(r), tagged(2, bytesOf(n - s))),
  ),
  withSignature(
    'negative-s',
    'The negative of s',
    sequence(integer(r), tagged(2, bytesOf(2n ** 256n - s))),
  ),
  withSignature(
    'long-length',
    'The length of the sequence in two bytes',
    Buffer.concat([Buffer.of(0x30, 0x81, content.length), content]),
  ),
  withSignature(
    'indefinite-length',
    'A sequence of indefinite length',
    Buffer.concat([Buffer.of(0x30, 0x80), content, Buffer.of(0, 0)]),
  ),
  withSignature('set', 'A set in place of the sequence', tagged(0x31, content)),
  withSignature(
    'wrong-length',
    'A sequence that says that it is longer',
    Buffer.concat([Buffer.of(0x30, content.length + 1), content]),
  ),
  withSignature('zero-r', 'r is 0', sequence(integer(0n), integer(s))),
  withSignature('zero-s', 's is 0', sequence(integer(r), integer(0n))),
  withSignature('zeros', 'r and s are 0', sequence(integer(0n), integer(0n))),
  withSignature('ones', 'r and s are 1', sequence(integer(1n), integer(1n))),
  withSignature('order-r', 'r is the order of the curve', sequence(integer(n), integer(s))),
  withSignature('order-s', 's is the order of the curve', sequence(integer(r), integer(n))),
  withSignature(
    's-plus-order',
    's and the order of the curve added',
    sequence(integer(r), integer(s + n)),
  ),
  withSignature(
    'r-plus-order',
    'r and the order of the curve added',
    sequence(integer(r + n), integer(s)),
  ),
  withSignature('swapped', 's and r in place of r and s', sequence(integer(s), integer(r))),
  withSignature(
    'sha2',
    'Over the SHA-256 of the entry',
    signed(hash('sha256', proof.entryCanonical, 'buffer')),
  ),
  withSignature(
    'keccak-size',
    'Over the SHA3-512 of the entry',
    signed(hash('sha3-512', proof.entryCanonical, 'buffer')),
  ),
  withSignature(
    'of-hash-text',
    'Over the SHA3-256 of the hash in hex',
    signed(hash('sha3-256', proof.entryHash, 'buffer')),
  ),
  withSignature(
    'of-hash',
    'Over the SHA3-256 of the hash in bytes',
    signed(hash('sha3-256', Buffer.from(proof.entryHash, 'hex'), 'buffer')),
  ),
  withSignature(
    'of-line-feed',
    'Over the entry and a line feed',
    signed(hash('sha3-256', `${proof.entryCanonical}\n`, 'buffer')),
  ),
  withSignature(
    '80-bytes',
    'As many bytes as a signature may have',
    Buffer.concat([der, Buffer.alloc(80 - der.length)]),
  ),
  withSignature(
    '81-bytes',
    'One byte more',
    Buffer.concat([der, Buffer.alloc(81 - der.length)]),
    malformed,
  ),
  withSignature('hex', 'The signature in hex', der.toString('hex').slice(0, 105), malformed),
  withSignature('no-padding', 'Base64 without its padding', base64.replace(/=+$/, ''), malformed),
  withSignature('more-padding', 'Base64 with padding too much', `${base64}=`, malformed),
  withSignature(
    'url-safe',
    'Base64 for URLs',
    base64.replaceAll('+', '-').replaceAll('/', '_'),
    malformed,
  ),
  withSignature('lines', 'Base64 in lines', `${firstLine}\n${base64.slice(64)}`, malformed),
  withSignature(
    'spaces',
    'Base64 with a space in it',
    `${firstLine} ${base64.slice(64)}`,
    malformed,
  ),
  withSignature('stray-bits', 'Base64 with bits after the last byte', strayBits(base64), malformed),
  {
    name: 'key-no-padding',
    description: 'The key in base64 without its padding',
    ...malformed,
    proof: { ...proof, publicKey: proof.publicKey.replace(/=+$/, '') },
  },
  {
    name: 'key-url-safe',
    description: 'The key in base64 for URLs',
    ...malformed,
    proof: { ...proof, publicKey: proof.publicKey.replaceAll('+', '-').replaceAll('/', '_') },
  },
  {
    name: 'key-stray-bits',
    description: 'The key in base64 with bits after the last byte',
    ...malformed,
    proof: { ...proof, publicKey: strayBits(proof.publicKey) },
  },
];

function signed(digest: Buffer): Buffer {
  return sign(digest, keys.first);
}

/** Sets the last bit before the padding, which belongs to no byte. */
function strayBits(base64: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return base64.replace(/(.)(=+)$/, (_, last: string, padding: string) => {
    return (alphabet[alphabet.indexOf(last) + 1] ?? '') + padding;
  });
}
