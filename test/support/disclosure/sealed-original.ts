import { generateKeyPairSync, hash, randomUUID, sign } from 'node:crypto';
import { hexToBytes } from '@noble/hashes/utils.js';
import canonicalize from 'canonicalize';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { commitmentOf } from '../../../client/content/commitment.ts';
import { createContentHasher } from '../../../client/content/content-hasher.ts';
import type { SizedContent } from '../../../client/content/content.ts';
import { contentSegmentRange } from '../../../client/content/layout.ts';
import type { Disclosure } from '../../../client/disclosure/disclose.ts';
import type { DisclosedSegment } from '../../../client/disclosure/disclosed-segments.ts';
import { makeFullOpening, makeSegmentsOpening } from '../../../client/disclosure/make-opening.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { keyFingerprint } from '../../../client/proofs/verify-proof.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const der = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }));

/** Fingerprint of the key that signs the proofs of this file. */
export const sealFingerprint = keyFingerprint(der);

export type JsonMembers = Readonly<Record<string, unknown>>;

/** Signs an entry as a vault would, whatever it says. */
export function proveEntry(members: JsonMembers): AuditProof {
  const id = randomUUID();
  const entry = { v: 2, id, sealedAt: '2026-11-23T07:30:00.000Z', ...members };
  const entryCanonical = canonicalize(entry) ?? '';
  return {
    id,
    entryCanonical,
    entryHash: hash('sha3-256', entryCanonical),
    hsmSignature: sign('sha3-256', Buffer.from(entryCanonical), privateKey).toString('base64'),
    hsmKeyId: sealFingerprint.slice(0, 32),
    publicKey: Buffer.from(der).toString('base64'),
  };
}

export const sealedDocumentId = '01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35';

/** Returns an entry that seals a document, with these members in place of its data's. */
export function sealedEntry(data: JsonMembers): JsonMembers {
  const userId = '01890a5d-9a01-7d3e-8f21-5c6a3f0b7e11';
  return {
    action: 'document.sealed',
    actor: { type: 'user', id: userId },
    data: {
      fileHash: 'ab'.repeat(32),
      metadataHash: 'cd'.repeat(32),
      size: 128,
      version: 2,
      ...data,
    },
    issuer: 'https://vault.example',
    outcome: 'success',
    resource: { type: 'document', id: sealedDocumentId, owner: userId },
    salt: 'kZ0t7iQmXc1w5y4Jq2o9uB3rV8sE6nLhTgAfDpCxWGs=',
    seq: 2,
    timestamp: '2026-11-23T07:29:59.000Z',
  };
}

/** Hashes bytes in pieces as an upload does, and returns the hashes of all segments too. */
export async function hashContent(
  bytes: Bytes,
  { pieceSize = 1_048_560, seed }: { readonly pieceSize?: number; readonly seed?: Bytes } = {},
): Promise<SizedContent & { readonly leaves: readonly Bytes[] }> {
  const leaves: Bytes[] = [];
  const onLeaf = (leaf: Bytes) => void leaves.push(leaf);
  const options = { createHash: createNodeHash, onLeaf };
  const hasher = await createContentHasher(seed === undefined ? options : { ...options, seed });
  for (let at = 0; at < bytes.length; at += pieceSize) {
    await hasher.update(bytes.subarray(at, at + pieceSize));
  }
  return { ...(await hasher.finish()), leaves };
}

export type SealedOriginal = Awaited<ReturnType<typeof sealOriginal>>;

/**
 * Makes the seal of a file, and all that its owner can disclose, without a vault. `data` are
 * further members of the entry's data, or make them from its content commitment; `members` are in
 * place of members of the entry.
 */
export async function sealOriginal(
  bytes: Bytes,
  data: JsonMembers | ((commitment: string) => JsonMembers) = {},
  members: JsonMembers = {},
) {
  const { leaves, ...hashed } = await hashContent(bytes);
  const commitment = await commitmentOf(hashed);
  const more = typeof data === 'function' ? data(commitment) : data;
  const entry = sealedEntry({ contentCommitment: commitment, ...more });
  const proof = proveEntry({ ...entry, ...members });
  const sealed = { documentId: sealedDocumentId, version: 2, proof, identityChanges: [] };
  const named = { ...sealed, keyTrust: 'pinned' } as const;
  return {
    ...hashed,
    seed: hexToBytes(hashed.content.seed),
    leaves,
    commitment,
    proof,
    discloseAll: (): Disclosure => ({ ...named, opening: makeFullOpening(hashed) }),
    async discloseSegments(indexes: readonly number[]): Promise<Disclosure> {
      const opening = await makeSegmentsOpening(hashed, leaves, indexes);
      async function* readSegments(): AsyncGenerator<DisclosedSegment, void, void> {
        for (const index of indexes) {
          const { offset, length } = contentSegmentRange(index, bytes.length);
          yield { index, offset, bytes: bytes.slice(offset, offset + length) };
        }
      }
      return { ...named, opening, readSegments };
    },
  };
}
