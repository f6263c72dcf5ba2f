import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createTree } from '../../../client/content/merkle.ts';
import { makeFullOpening, makeSegmentsOpening } from '../../../client/disclosure/make-opening.ts';
import { formatOpening } from '../../../client/disclosure/opening-text.ts';
import { parseOpening } from '../../../client/disclosure/opening.ts';
import { verifyOpening } from '../../../client/disclosure/verify-opening.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import { contentVectors, plaintextOf } from '../../support/disclosure/content-vectors.ts';
import { sourceOf } from '../../support/client/stored.ts';

for (const vector of contentVectors) {
  const { name, size, seed, root, sha256, leaves, contentCommitment } = vector;
  const file = () => ({
    commitment: contentCommitment,
    source: sourceOf(plaintextOf(size)),
    createHash: createNodeHash,
  });

  test(`openings are made and verified as in the test vectors: ${name}`, async (t) => {
    const metadata = { content: { seed, root, sha256 }, size };
    const full = makeFullOpening(metadata);
    t.deepEqual<unknown, unknown>(full, vector.fullOpening);
    t.deepEqual(parseOpening(vector.fullOpening), full);
    t.deepEqual(await verifyOpening(full, file()), { valid: true, proven: { kind: 'whole' } });

    const indexes = vector.segmentsOpening.segments.map(({ index }) => index);
    const some = await makeSegmentsOpening(metadata, leaves, indexes);
    t.deepEqual<unknown, unknown>(some, vector.segmentsOpening);
    t.deepEqual(parseOpening(vector.segmentsOpening), some);
    const ranges = indexes.map((index) => {
      const offset = index * 2 ** 20;
      return { offset, length: Math.min(2 ** 20, size - offset) };
    });
    const proven = { kind: 'segments', ranges };
    t.deepEqual<unknown, unknown>(await verifyOpening(some, file()), { valid: true, proven });
  });
}

test('an opening of segments shows neither the seed nor a hash of the file', async (t) => {
  const vector = contentVectors.at(-1) ?? t.fail();
  const { seed, root, sha256, size, leaves, salts } = vector;
  const metadata = { content: { seed, root, sha256 }, size };
  const opening = await makeSegmentsOpening(metadata, leaves, [1]);
  const text = JSON.stringify(opening) + formatOpening(opening);
  for (const secret of [seed, sha256, salts[0], salts[2], salts[3]]) {
    t.false(text.includes(secret ?? t.fail()));
  }
});

test('opening.txt has a value of opening.json on each line', async (t) => {
  const vector = contentVectors.at(-1) ?? t.fail();
  const { seed, root, sha256, size, leaves, salts, commitmentSalt, whole } = vector;
  const metadata = { content: { seed, root, sha256 }, size };
  t.is(
    formatOpening(makeFullOpening(metadata)),
    `opening 1\nseed ${seed}\nroot ${root}\nsha256 ${sha256}\nsize ${size}\n`,
  );
  const opening = await makeSegmentsOpening(metadata, leaves, [1, 3]);
  const paths = opening.segments.map(({ path }) => path.map((hash) => `path ${hash}`).join('\n'));
  t.is(
    formatOpening(opening),
    `opening 1\nroot ${root}\nwhole ${whole}\nsize ${size}\ncommitment-salt ${commitmentSalt}\n` +
      `segment 1\nsalt ${salts[1]}\n${paths[0]}\nsegment 3\nsalt ${salts[3]}\n${paths[1]}\n`,
  );
});

test('hashes of another file are not opened', async (t) => {
  const vector = contentVectors.at(-1) ?? t.fail();
  const { seed, root, sha256, size, leaves } = vector;
  const metadata = { content: { seed, root, sha256 }, size };
  const [first = t.fail(), ...rest] = leaves;
  const code = 'content_mismatch';
  for (const other of [[...rest, first], leaves.slice(1), [...leaves, first], [first]]) {
    await t.throwsAsync(makeSegmentsOpening(metadata, other, [0]), { code });
  }
  t.is(Buffer.from(createTree(leaves).root).toString('hex'), root);
});

const hex = 'ab'.repeat(32);
const full = { v: 1, seed: hex, root: hex, sha256: hex, size: 3 * 2 ** 20 };
const segment = { index: 1, salt: hex, path: [hex, hex] };
const last = { index: 2, salt: hex, path: [hex] };
const some = {
  v: 1,
  commitmentSalt: hex,
  whole: hex,
  root: hex,
  size: 3 * 2 ** 20,
  segments: [segment, last],
};

test('openings of the right form are accepted', (t) => {
  for (const opening of [full, some, { ...full, size: 0 }]) {
    t.deepEqual<unknown, unknown>(parseOpening(opening), opening);
  }
});

const malformed: [defect: string, opening: unknown][] = [
  ['nothing', undefined],
  ['a text', JSON.stringify(full)],
  ['an array', [full]],
  ['another version', { ...full, v: 2 }],
  ['an unknown member', { ...full, name: 'x' }],
  ['both kinds', { ...full, ...some }],
  ['no seed', { ...full, seed: undefined }],
  ['upper case', { ...full, seed: hex.toUpperCase() }],
  ['a digit too few', { ...full, root: hex.slice(1) }],
  ['a line break', { ...full, root: `${hex}\n` }],
  ['a negative size', { ...full, size: -1 }],
  ['half a byte', { ...full, size: 0.5 }],
  ['a size beyond exact numbers', { ...full, size: 2 ** 53 }],
  ['a size as text', { ...full, size: '5' }],
  ['no segment', { ...some, segments: [] }],
  ['a seed beside segments', { ...some, seed: hex }],
  ['segments in another order', { ...some, segments: [last, segment] }],
  ['a segment twice', { ...some, segments: [segment, segment] }],
  ['a segment beyond the file', { ...some, segments: [{ ...last, index: 3 }] }],
  ['a segment before the file', { ...some, segments: [{ ...segment, index: -1 }] }],
  ['a short path', { ...some, segments: [{ ...segment, path: [hex] }] }],
  ['a long path', { ...some, segments: [{ ...last, path: [hex, hex] }] }],
  ['another size than that of the paths', { ...some, size: 2 * 2 ** 20 }],
  ['an unknown member of a segment', { ...some, segments: [{ ...segment, bytes: '' }] }],
  ['too many segments', { ...some, size: 2 ** 40, segments: manySegments(65_537) }],
];

function manySegments(count: number) {
  const path = Array.from({ length: 20 }, () => hex);
  return Array.from({ length: count }, (_, index) => ({ index, salt: hex, path }));
}

for (const [defect, opening] of malformed) {
  test(`an opening that is malformed is refused: ${defect}`, async (t) => {
    t.throws(() => parseOpening(opening), { code: 'invalid_opening' });
    const source = sourceOf(randomBytes(5));
    const file = { commitment: hex, source, createHash: createNodeHash };
    const refused = { valid: false, reason: 'opening_malformed' } as const;
    t.deepEqual(await verifyOpening(opening, file), refused);
  });
}
