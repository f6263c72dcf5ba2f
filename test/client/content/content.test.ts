import { randomBytes } from 'node:crypto';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import * as fc from 'fast-check';
import { commitmentOf, deriveCommitments } from '../../../client/content/commitment.ts';
import { createContentHasher } from '../../../client/content/content-hasher.ts';
import { contentSegmentRange, countContentSegments } from '../../../client/content/layout.ts';
import { deriveSegmentSalt } from '../../../client/content/salts.ts';
import { createWasmHash } from '../../../client/crypto/hash.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import { contentVectors, plaintextOf } from '../../support/disclosure/content-vectors.ts';
import { hashContent } from '../../support/disclosure/sealed-original.ts';

for (const vector of contentVectors) {
  const { name, size, root, sha256 } = vector;
  test(`a plaintext has the content and commitment of the test vectors: ${name}`, async (t) => {
    const seed = hexToBytes(vector.seed);
    const { leaves, ...hashed } = await hashContent(plaintextOf(size), { seed });
    t.deepEqual(hashed, { content: { seed: vector.seed, root, sha256 }, size });
    t.deepEqual(leaves, vector.leaves);
    for (const [index, salt] of vector.salts.entries()) {
      t.is(bytesToHex(await deriveSegmentSalt(seed, index)), salt);
    }
    const { commitmentSalt, whole } = vector;
    t.deepEqual(await deriveCommitments(hashed), { commitmentSalt, root, whole, size });
    t.is(await commitmentOf(hashed), vector.contentCommitment);
  });
}

test('pieces of any size give the same content', async (t) => {
  const seed = randomBytes(32);
  const bytes = randomBytes(3 * 2 ** 20 + 5);
  const expected = await hashContent(bytes, { seed, pieceSize: bytes.length });
  const sizes = fc.array(fc.integer({ min: 0, max: 2_500_000 }), { minLength: 1, maxLength: 8 });
  const property = fc.asyncProperty(sizes, async (pieceSizes) => {
    const hasher = await createContentHasher({ createHash: createNodeHash, seed });
    let at = 0;
    for (const pieceSize of pieceSizes) {
      await hasher.update(bytes.subarray(at, at + pieceSize));
      at = Math.min(bytes.length, at + pieceSize);
    }
    await hasher.update(bytes.subarray(at));
    const { content, size } = await hasher.finish();
    t.deepEqual({ content, size }, { content: expected.content, size: bytes.length });
  });
  await fc.assert(property, { numRuns: 30 });
});

test('a piece may be overwritten once it was added', async (t) => {
  const seed = randomBytes(32);
  const bytes = randomBytes(2 ** 21);
  const expected = await hashContent(bytes, { seed });
  const hasher = await createContentHasher({ createHash: createNodeHash, seed });
  const piece = new Uint8Array(2 ** 20);
  for (const offset of [0, 2 ** 20]) {
    piece.set(bytes.subarray(offset, offset + piece.length));
    await hasher.update(piece);
    piece.fill(0);
  }
  t.deepEqual((await hasher.finish()).content, expected.content);
});

test('equal files have unequal commitments, since each has a seed of its own', async (t) => {
  const bytes = randomBytes(100);
  const [one, other] = [await hashContent(bytes), await hashContent(bytes)];
  t.is(one.content.sha256, other.content.sha256);
  t.not(one.content.seed, other.content.seed);
  t.not(one.content.root, other.content.root);
  t.not(await commitmentOf(one), await commitmentOf(other));
});

test('every member of the content changes the commitment', async (t) => {
  const hashed = await hashContent(randomBytes(100));
  const commitment = await commitmentOf(hashed);
  t.not(await commitmentOf({ ...hashed, size: 101 }), commitment);
  for (const member of ['seed', 'root', 'sha256'] as const) {
    const content = { ...hashed.content, [member]: '00'.repeat(32) };
    t.not(await commitmentOf({ ...hashed, content }), commitment, member);
  }
});

test('WebAssembly and OpenSSL give the same content', async (t) => {
  const seed = randomBytes(32);
  const bytes = randomBytes(1_500_000);
  const contents = [];
  for (const createHash of [createWasmHash, createNodeHash]) {
    const hasher = await createContentHasher({ createHash, seed });
    await hasher.update(bytes);
    contents.push(await hasher.finish());
  }
  t.deepEqual(contents[0], contents[1]);
});

test('segments lie side by side and cover the file', (t) => {
  const property = fc.property(fc.maxSafeNat(), (size) => {
    const count = countContentSegments(size);
    t.deepEqual(contentSegmentRange(0, size), { offset: 0, length: Math.min(size, 2 ** 20) });
    const last = contentSegmentRange(count - 1, size);
    t.is(last.offset + last.length, size);
    t.true(last.length > 0 || size === 0);
  });
  fc.assert(property);
});
