import { createHash } from 'node:crypto';
import test from 'ava';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { deriveCommitments } from '../../../client/content/commitment.ts';
import { deriveSegmentSalt } from '../../../client/content/salts.ts';
import { hashSegment } from '../../../client/content/segment-hash.ts';
import { isOfSegments } from '../../../client/disclosure/opening.ts';
import { formatOpening } from '../../../client/disclosure/opening-text.ts';
import { verifyOriginal } from '../../../client/disclosure/verify-original.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import { sealFingerprint, sealOriginal } from '../../support/disclosure/sealed-original.ts';
import { sourceOf } from '../../support/client/stored.ts';

const segmentBytes = 2 ** 20;
const segments = 40;
const disclosed = [3, 17, 39];

/** The texts of which everyone knows that each segment is one. */
const guesses = ['approved', 'refused', 'postponed', 'withdrawn'].map(
  (word) => new Uint8Array(Buffer.alloc(segmentBytes, `${word}\n`)),
);

const original = new Uint8Array(segments * segmentBytes);
for (let index = 0; index < segments; index += 1) {
  original.set(guesses[index % guesses.length] ?? [], index * segmentBytes);
}
const sealed = await sealOriginal(original);
const { opening } = await sealed.discloseSegments(disclosed);
if (!isOfSegments(opening)) throw new Error('the opening is of the whole file');

const rangeOf = (index: number) => ({ offset: index * segmentBytes, length: segmentBytes });

/** Returns every value of 32 bytes that a text shows. */
function shownValues(text: string): Bytes[] {
  const values = new Set(text.match(/\b[0-9a-f]{64}\b/g));
  return [...values].map((hex) => new Uint8Array(Buffer.from(hex, 'hex')));
}

/**
 * Tries all guesses of a segment with everything that is shown, as salts and as seeds, and returns
 * those of which a hash is shown too.
 */
async function confirmed(text: string, index: number): Promise<number[]> {
  const salts: Bytes[] = [new Uint8Array(0)];
  for (const value of shownValues(text)) {
    salts.push(value, await deriveSegmentSalt(value, index));
  }
  const found: number[] = [];
  for (const [guess, bytes] of guesses.entries()) {
    for (const salt of salts) {
      const leaf = await hashSegment(salt, bytes);
      if (text.includes(Buffer.from(leaf).toString('hex'))) found.push(guess);
    }
  }
  return found;
}

test('3 of 40 segments verify, whatever the others are', async (t) => {
  const proven = { kind: 'segments', ranges: disclosed.map(rangeOf) };
  for (const filler of [0, 0xff]) {
    const redacted = new Uint8Array(original.length).fill(filler);
    for (const { offset, length } of disclosed.map(rangeOf)) {
      redacted.set(original.subarray(offset, offset + length), offset);
    }
    const verdict = await verifyOriginal({
      proof: sealed.proof,
      opening,
      source: sourceOf(redacted),
      createHash: createNodeHash,
      trustedKeys: [sealFingerprint],
    });
    t.like(verdict, { valid: true, proven });
  }
});

test('no guess of a redacted segment can be confirmed by a disclosure', async (t) => {
  const shown = JSON.stringify({ opening, proof: sealed.proof }) + formatOpening(opening);
  // The hashes of segments 2, 16 and 38 are in the paths of those beside them.
  const leaves = sealed.leaves.map((leaf) => Buffer.from(leaf).toString('hex'));
  t.deepEqual(
    leaves.flatMap((leaf, index) => (shown.includes(leaf) ? index : [])),
    [2, 16, 38],
  );
  for (const index of [2, 16, 38, 0]) t.deepEqual(await confirmed(shown, index), []);
});

test('the guesser finds what it looks for once the seed is shown', async (t) => {
  const shown = JSON.stringify([opening, sealed.content.seed]);
  t.deepEqual(await confirmed(shown, 2), [2]);
});

test('no guess of the whole file can be confirmed by a disclosure', async (t) => {
  const sha256 = createHash('sha256').update(original).digest('hex');
  const { size } = opening;
  const rightGuess = { root: opening.root, sha256 };
  for (const value of shownValues(JSON.stringify(opening))) {
    const seed = Buffer.from(value).toString('hex');
    const { whole } = await deriveCommitments({ content: { ...rightGuess, seed }, size });
    t.not(whole, opening.whole);
  }
  const { whole } = await deriveCommitments({ content: sealed.content, size });
  t.is(whole, opening.whole);
});
