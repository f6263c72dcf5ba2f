import { randomBytes } from 'node:crypto';
import test from 'ava';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { commitmentOf } from '../../../client/content/commitment.ts';
import { makeFullOpening } from '../../../client/disclosure/make-opening.ts';
import { verifyOriginal } from '../../../client/disclosure/verify-original.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import {
  hashContent,
  proveEntry,
  sealedDocumentId,
  sealedEntry,
  sealFingerprint,
  sealOriginal,
} from '../../support/disclosure/sealed-original.ts';
import { sourceOf } from '../../support/client/stored.ts';

const segmentBytes = 2 ** 20;
const trustedKeys = [sealFingerprint];
const original = new Uint8Array(randomBytes(2 * segmentBytes + 5));
const sealed = await sealOriginal(original);
const { opening } = sealed.discloseAll();

const verify = (bytes: Bytes, other: Partial<Parameters<typeof verifyOriginal>[0]> = {}) =>
  verifyOriginal({
    proof: sealed.proof,
    opening,
    source: sourceOf(bytes),
    createHash: createNodeHash,
    trustedKeys,
    ...other,
  });

test('the file that was sealed is proven as a whole', async (t) => {
  const { createHash: _, ...byDefault } = { createHash: undefined };
  for (const options of [{}, byDefault]) {
    t.like(await verify(original, options), {
      valid: true,
      documentId: sealedDocumentId,
      version: 2,
      proven: { kind: 'whole' },
    });
  }
});

test('another file is refused with what is other about it', async (t) => {
  const changed = original.with(segmentBytes, (original[segmentBytes] ?? 0) ^ 1);
  const cases = [
    [new Uint8Array(changed), 'other_content'],
    [original.slice(0, -1), 'other_size'],
    [new Uint8Array([...original, 0]), 'other_size'],
    [new Uint8Array(0), 'other_size'],
  ] as const;
  for (const [bytes, reason] of cases) t.like(await verify(bytes), { valid: false, reason });
  const shrunk = { ...sourceOf(original), read: async () => new Uint8Array(3) };
  t.like(await verify(original, { source: shrunk }), { valid: false, reason: 'other_size' });
});

test('a proof that is not valid is refused with its defect', async (t) => {
  const { proof } = sealed;
  const cases = [
    [{ proof: undefined }, 'malformed'],
    [{ proof: { ...proof, entryHash: 'ab'.repeat(32) } }, 'hash_mismatch'],
    [{ proof: { ...proof, entryCanonical: `${proof.entryCanonical} ` } }, 'not_canonical'],
    [{ trustedKeys: ['ab'.repeat(32)] }, 'key_untrusted'],
  ] as const;
  for (const [other, reason] of cases) {
    t.like(await verify(original, other), { valid: false, reason });
  }
});

test('a proof that says nothing of this file is refused', async (t) => {
  const contentCommitment = sealed.commitment;
  const entry = sealedEntry({ contentCommitment });
  const cases = [
    [{ ...entry, action: 'document.created' }, 'other_action'],
    [{ ...entry, outcome: 'failure' }, 'other_action'],
    [{ ...entry, data: null }, 'other_action'],
    [sealedEntry({}), 'no_commitment'],
    [sealedEntry({ contentCommitment: null }), 'no_commitment'],
    [sealedEntry({ contentCommitment: contentCommitment.toUpperCase() }), 'no_commitment'],
    [sealedEntry({ author: { statement: { contentCommitment } } }), 'no_commitment'],
    [sealedEntry({ contentCommitment: 'ab'.repeat(32) }), 'other_commitment'],
  ] as const;
  for (const [members, reason] of cases) {
    t.like(await verify(original, { proof: proveEntry(members) }), { valid: false, reason });
  }
});

test('the opening of another seal of the same file is refused', async (t) => {
  const other = (await sealOriginal(original)).discloseAll().opening;
  t.like(await verify(original, { opening: other }), { reason: 'other_commitment' });
});

test('an owner who commits to hashes of two files can show neither as the original', async (t) => {
  const other = new Uint8Array(randomBytes(original.length));
  const { seed } = sealed.content;
  const hashed = await hashContent(other, { seed: sealed.seed });
  for (const content of [
    { seed, root: sealed.content.root, sha256: hashed.content.sha256 },
    { seed, root: hashed.content.root, sha256: sealed.content.sha256 },
  ]) {
    const both = { content, size: original.length };
    const proof = proveEntry(sealedEntry({ contentCommitment: await commitmentOf(both) }));
    for (const bytes of [original, other]) {
      const verdict = await verify(bytes, { proof, opening: makeFullOpening(both) });
      t.like(verdict, { valid: false, reason: 'other_content' });
    }
  }
});

test('an error of the file is not mistaken for a verdict', async (t) => {
  const source = { size: original.length, read: () => Promise.reject(new Error('EIO')) };
  await t.throwsAsync(verify(original, { source }), { message: 'EIO' });
});

test('a disclosed segment proves nothing in another place', async (t) => {
  const { opening: some } = await sealed.discloseSegments([0]);
  const swapped = new Uint8Array(original.length);
  swapped.set(original.subarray(0, segmentBytes), segmentBytes);
  const moved = structuredClone(some);
  t.like(await verify(swapped, { opening: moved }), { reason: 'other_segment', segment: 0 });
});
