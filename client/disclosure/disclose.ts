import { hexToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { createContentHasher } from '../content/content-hasher.ts';
import { ClientError } from '../errors/client-error.ts';
import {
  openDocument,
  openVersionOf,
  statedVersionOf,
  type OpenDependencies,
  type OpenedVersion,
} from '../documents/open-document.ts';
import {
  downloadEncrypted,
  downloadFile,
  type DownloadDependencies,
} from '../downloads/download.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import type { AuditProof } from '../proofs/proof-format.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { findSealDefect, readSealedVersion, SealError } from '../proofs/seal.ts';
import type { KeyTrust, TrustedKeys } from '../proofs/trusted-keys.ts';
import { readDisclosedSegments, type DisclosedSegment } from './disclosed-segments.ts';
import { makeFullOpening, makeSegmentsOpening, sortIndexes } from './make-opening.ts';
import type { Opening, SegmentsOpening } from './opening.ts';

export interface DisclosureOptions {
  /** Number of a sealed version. The default is the current one. */
  readonly version?: number;
  /**
   * Indexes of the segments to disclose, from 0, each 1 MiB of the file. The default is the whole
   * file.
   */
  readonly segments?: readonly number[];
  /** Whether to hand over the encrypted file and its key too. Not possible with `segments`. */
  readonly includeFile?: boolean;
  readonly signal?: AbortSignal;
}

/** All that somebody needs to verify without the vault what was sealed. */
export interface Disclosure {
  readonly documentId: string;
  readonly version: number;
  /** The audit proof of the seal of the version. */
  readonly proof: AuditProof;
  /** By what the key that signed the proof is trusted. */
  readonly keyTrust: KeyTrust;
  /**
   * Audit proofs of the changes of the user's identity, by which others follow it from a
   * fingerprint that they know to the one that signed the statement in the seal.
   */
  readonly identityChanges: readonly AuditProof[];
  readonly opening: Opening;
  /** Downloads the plaintext of the chosen segments; absent if the whole file is disclosed. */
  readonly readSegments?: () => AsyncGenerator<DisclosedSegment, void, void>;
  /** The encrypted file, if `includeFile` asked for it. */
  readonly file?: DisclosedFile;
}

export interface DisclosedFile {
  /** The key of the file of this version, 32 bytes. It opens nothing else, not the metadata. */
  readonly fileKey: Bytes;
  /** Downloads the encrypted file; discard everything if it throws, as `downloadFile` may. */
  readonly readEncrypted: () => AsyncGenerator<Bytes, void, void>;
}

export interface DiscloseDependencies extends OpenDependencies, DownloadDependencies {
  readonly proofs: Pick<Proofs, 'identityChanges'>;
  readonly trustedKeys: TrustedKeys;
}

/**
 * Makes what the owner of a document hands over to show what a sealed version is: its verified
 * seal, and an opening of the content commitment. The opening of chosen segments, for which the
 * file is downloaded once, tells nothing of the others, not even to who guesses them. Throws
 * not_sealed, SealError, also if the seal has no content commitment or another one,
 * content_mismatch, RangeError for segments that the file does not have, TypeError for segments
 * together with `includeFile`, and what `openDocument`, `openVersionOf` and `downloadFile` throw.
 */
export async function disclose(
  dependencies: DiscloseDependencies,
  owned: MasterKeys & { readonly id: string },
  { version, segments, includeFile = false, signal }: DisclosureOptions = {},
): Promise<Disclosure> {
  if (includeFile && segments !== undefined) {
    throw new TypeError('The key of the file opens all of it: leave out segments or includeFile.');
  }
  const current = await openDocument(dependencies, owned);
  const opened = await openVersionOf(dependencies, current, version ?? current.version);
  const { documentId, metadata, fileKey } = opened;
  const sealed = {
    documentId,
    version: opened.version,
    ...(await findSeal(dependencies, opened)),
    identityChanges: await dependencies.proofs.identityChanges(),
  };
  if (segments === undefined) {
    const disclosure = { ...sealed, opening: makeFullOpening(metadata) };
    const readEncrypted = () => downloadEncrypted(dependencies, opened, signal);
    return includeFile ? { ...disclosure, file: { fileKey, readEncrypted } } : disclosure;
  }
  const indexes = sortIndexes(segments, metadata.size);
  const opening = await openSegments(dependencies, opened, indexes, signal);
  return {
    ...sealed,
    opening,
    readSegments: () => readDisclosedSegments(dependencies, { file: opened, opening }, signal),
  };
}

/** Finds the seal of a version, and verifies that it is of this file and its content commitment. */
async function findSeal(
  { documents, memory, trustedKeys }: DiscloseDependencies,
  opened: OpenedVersion,
): Promise<Pick<Disclosure, 'proof' | 'keyTrust'>> {
  const proofs = await documents.proofs(opened.documentId);
  const proof = proofs.find((each) => readSealedVersion(each) === opened.version);
  if (proof === undefined) throw new ClientError('not_sealed');
  const options = await trustedKeys.find(proof, memory);
  const defect = findSealDefect(await statedVersionOf(opened), proof, options);
  if (defect !== undefined) throw new SealError(proof.id, proof, defect);
  return { proof, keyTrust: trustedKeys.trust };
}

async function openSegments(
  dependencies: DownloadDependencies,
  opened: OpenedVersion,
  indexes: readonly number[],
  signal: AbortSignal | undefined,
): Promise<SegmentsOpening> {
  const { metadata } = opened;
  const leaves: Bytes[] = [];
  const hasher = await createContentHasher({
    createHash: dependencies.createHash,
    seed: hexToBytes(metadata.content.seed),
    onLeaf: (leaf) => leaves.push(leaf),
  });
  for await (const piece of downloadFile(dependencies, opened, { signal })) {
    await hasher.update(piece);
  }
  const { content, size } = await hasher.finish();
  const { root, sha256 } = metadata.content;
  if (content.root !== root || content.sha256 !== sha256 || size !== metadata.size) {
    throw new ClientError('content_mismatch');
  }
  return makeSegmentsOpening(metadata, leaves, indexes);
}
