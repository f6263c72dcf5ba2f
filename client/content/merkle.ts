import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';

const nodePrefix = Uint8Array.of(1);

/** SHA-256(0x01 ‖ left ‖ right), the hash of a node (RFC 6962 §2.1). */
function hashNode(left: Bytes, right: Bytes): Bytes {
  return new Uint8Array(sha256(concatBytes(nodePrefix, left, right)));
}

/** A Merkle tree that is hashed leaf by leaf. Holds one hash for each of its levels. */
export interface GrowingTree {
  /** Adds the hash of the next leaf. */
  add(leaf: Bytes): void;
  /** Returns the head of the tree of all leaves so far. Throws RangeError if there is none. */
  root(): Bytes;
}

export function createGrowingTree(): GrowingTree {
  /** Heads of full subtrees, the largest first: one for each bit that is set in `count`. */
  const heads: Bytes[] = [];
  let count = 0;
  return {
    add(leaf) {
      let head = leaf;
      for (let rest = count; rest % 2 === 1; rest = (rest - 1) / 2) {
        head = hashNode(heads.pop() ?? head, head);
      }
      heads.push(head);
      count += 1;
    },
    root() {
      if (count === 0) throw new RangeError('The tree has no leaf.');
      return heads.reduceRight((right, left) => hashNode(left, right));
    },
  };
}

/** A Merkle tree of which all nodes are in memory. */
export interface Tree {
  readonly root: Bytes;
  /** Returns the audit path of a leaf, bottom up (RFC 6962 §2.1.1). */
  path(index: number): Bytes[];
}

/** Creates a tree of the hashes of its leaves. Throws RangeError if there is none. */
export function createTree(leaves: readonly Bytes[]): Tree {
  const [first] = leaves;
  if (first === undefined) throw new RangeError('The tree has no leaf.');
  const levels: (readonly Bytes[])[] = [];
  let level = leaves;
  for (; level.length > 1; level = hashPairs(level)) levels.push(level);
  return {
    root: level[0] ?? first,
    path(index) {
      let position = index;
      return levels.flatMap((nodes) => {
        const sibling = position % 2 === 0 ? position + 1 : position - 1;
        position = Math.floor(position / 2);
        return nodes[sibling] ?? [];
      });
    },
  };
}

/** Returns the level above: a node that is left over is carried up unchanged. */
function hashPairs(level: readonly Bytes[]): Bytes[] {
  const above: Bytes[] = [];
  for (let index = 0; index < level.length; index += 2) {
    const [left, right] = level.slice(index, index + 2);
    if (left !== undefined) above.push(right === undefined ? left : hashNode(left, right));
  }
  return above;
}

/** Returns how many hashes the audit path of a leaf has in a tree of `count` leaves. */
export function pathLength(index: number, count: number): number {
  return siblingSides(index, count).length;
}

/**
 * Returns the head of a tree of `count` leaves, computed from the hash of one leaf and its audit
 * path. Returns undefined if the path has another length than that of the leaf.
 */
export function rootOfPath(
  leaf: Bytes,
  {
    index,
    count,
    path,
  }: {
    readonly index: number;
    readonly count: number;
    readonly path: readonly Bytes[];
  },
): Bytes | undefined {
  const sides = siblingSides(index, count);
  if (path.length !== sides.length) return undefined;
  return path.reduce<Bytes>(
    (head, sibling, level) =>
      sides[level] === 'left' ? hashNode(sibling, head) : hashNode(head, sibling),
    leaf,
  );
}

/** Returns on which side the sibling is at each level, bottom up, where there is one. */
function siblingSides(index: number, count: number): ('left' | 'right')[] {
  const sides: ('left' | 'right')[] = [];
  let position = index;
  for (let last = count - 1; last > 0; last = Math.floor(last / 2)) {
    if (position % 2 === 1) sides.push('left');
    else if (position < last) sides.push('right');
    position = Math.floor(position / 2);
  }
  return sides;
}
