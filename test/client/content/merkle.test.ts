import { createHash } from 'node:crypto';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import * as fc from 'fast-check';
import { z } from 'zod';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import {
  createGrowingTree,
  createTree,
  pathLength,
  rootOfPath,
} from '../../../client/content/merkle.ts';
import { readVectors } from '../../support/client/vectors.ts';

const hash = (...parts: readonly Uint8Array[]): Bytes =>
  new Uint8Array(createHash('sha256').update(Buffer.concat(parts)).digest());
const leafOf = (data: Uint8Array) => hash(Uint8Array.of(0), data);

const { leaves, roots, paths } = await readVectors(
  'merkle-rfc6962.json',
  z.object({
    leaves: z.array(z.string().transform((hex) => leafOf(hexToBytes(hex)))),
    roots: z.array(z.string()),
    paths: z.array(
      z.object({ index: z.int(), count: z.int(), path: z.array(z.string().transform(hexToBytes)) }),
    ),
  }),
);

/** MTH of RFC 6962 §2.1, word for word. */
function treeHead(hashes: readonly Bytes[]): Bytes {
  const [first] = hashes;
  if (first === undefined || hashes.length === 1) return first ?? hash();
  let split = 1;
  while (split * 2 < hashes.length) split *= 2;
  return hash(Uint8Array.of(1), treeHead(hashes.slice(0, split)), treeHead(hashes.slice(split)));
}

const leafLists = fc
  .integer({ min: 1, max: 70 })
  .map((count) => Array.from({ length: count }, (_, index) => leafOf(Uint8Array.of(index))));

test('trees have the heads of the test vectors of Certificate Transparency', (t) => {
  const growing = createGrowingTree();
  for (const [index, root] of roots.entries()) {
    growing.add(leaves[index] ?? t.fail());
    t.is(bytesToHex(growing.root()), root);
    t.is(bytesToHex(createTree(leaves.slice(0, index + 1)).root), root);
  }
});

test('leaves have the paths of the test vectors of Certificate Transparency', (t) => {
  for (const { index, count, path } of paths) {
    t.deepEqual(createTree(leaves.slice(0, count)).path(index), path);
    const leaf = leaves[index] ?? t.fail();
    t.deepEqual(rootOfPath(leaf, { index, count, path }), hexToBytes(roots[count - 1] ?? ''));
  }
});

test('a tree that grows and a tree in memory have the head that RFC 6962 defines', (t) => {
  const property = fc.property(leafLists, (hashes) => {
    const growing = createGrowingTree();
    for (const each of hashes) growing.add(each);
    t.deepEqual(growing.root(), treeHead(hashes));
    t.deepEqual(createTree(hashes).root, treeHead(hashes));
  });
  fc.assert(property);
});

test('the path of every leaf leads to the head, and to no other from another place', (t) => {
  const property = fc.property(leafLists, fc.nat(), fc.nat(), (hashes, one, other) => {
    const count = hashes.length;
    const { root, path } = createTree(hashes);
    const [index, place] = [one % count, other % count];
    const leaf = hashes[index] ?? t.fail();
    const proof = { index, count, path: path(index) };
    t.is(proof.path.length, pathLength(index, count));
    t.deepEqual(rootOfPath(leaf, proof), root);
    if (place !== index) t.notDeepEqual(rootOfPath(leaf, { ...proof, index: place }), root);
    t.notDeepEqual(rootOfPath(hash(leaf), proof), root);
    t.is(rootOfPath(leaf, { ...proof, path: [...proof.path, leaf] }), undefined);
    if (count > 1) t.is(rootOfPath(leaf, { ...proof, path: proof.path.slice(1) }), undefined);
  });
  fc.assert(property);
});

test('a tree without leaves is refused', (t) => {
  t.throws(() => createTree([]), { instanceOf: RangeError });
  t.throws(() => createGrowingTree().root(), { instanceOf: RangeError });
});
