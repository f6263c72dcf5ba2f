import { bytesToHex, randomBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import type { CreateHash } from '../crypto/hash.ts';
import type { SizedContent } from './content.ts';
import { createGrowingTree } from './merkle.ts';
import { deriveSegmentSalt } from './salts.ts';
import { createSegmentBuffer } from './segment-hash.ts';

const seedBytes = 32;

export interface ContentHasherOptions {
  readonly createHash: CreateHash;
  /** The seed of the salts, 32 bytes. The default is a new one, as each version needs. */
  readonly seed?: Bytes;
  /** Called with the hash of each leaf of the tree, in order. */
  readonly onLeaf?: (leaf: Bytes) => void;
}

export type ContentHasher = Awaited<ReturnType<typeof createContentHasher>>;

/**
 * Creates a hasher of a plaintext, which arrives in sequence in pieces of any size. Holds one
 * segment in memory, and hashes it while the next one arrives.
 */
export async function createContentHasher({
  createHash,
  seed = randomBytes(seedBytes),
  onLeaf = () => {},
}: ContentHasherOptions) {
  const whole = await createHash('sha256');
  const tree = createGrowingTree();
  const segment = createSegmentBuffer();
  let index = 0;
  let size = 0;
  let hashing: Promise<void> = Promise.resolve();

  async function addLeaf(hashed: Promise<Bytes>): Promise<void> {
    const leaf = await hashed;
    tree.add(leaf);
    onLeaf(leaf);
  }

  /** Begins to hash the segment in the buffer, once the one before it is hashed. */
  async function endSegment(): Promise<void> {
    const salt = await deriveSegmentSalt(seed, index);
    await hashing;
    index += 1;
    hashing = addLeaf(segment.hash(salt));
    // The error is thrown by the next call; without a handler it would end the process before.
    hashing.catch(() => {});
  }

  return {
    /**
     * Adds the next piece. Callers MUST wait for the promise before the next call, and MUST NOT
     * change the bytes before.
     */
    async update(piece: Bytes): Promise<void> {
      whole.update(piece);
      size += piece.length;
      for (let rest = piece; rest.length > 0;) {
        rest = segment.fill(rest);
        if (segment.isFull()) await endSegment();
      }
    },

    /** Resolves with the content of all pieces. MUST be called once, after them. */
    async finish(): Promise<SizedContent> {
      if (index === 0 || !segment.isEmpty()) await endSegment();
      await hashing;
      const root = bytesToHex(tree.root());
      return { content: { seed: bytesToHex(seed), root, sha256: whole.digest() }, size };
    },
  };
}
