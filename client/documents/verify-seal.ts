import type { Bytes } from '../bytes/bytes.ts';
import { createWasmHash, type CreateHash } from '../crypto/hash.ts';
import type { AuditProof } from '../proofs/proof-format.ts';
import { findSealDefect, type SealDefect } from '../proofs/seal.ts';
import type { VerifyOptions } from '../proofs/verify-proof.ts';
import { hashMetadata, placeOf } from './metadata.ts';

/** A version as the vault stores it, and the proof that is to seal it. */
export interface StoredVersion {
  /** The encrypted file, in pieces of any size, from its beginning to its end. */
  readonly file: AsyncIterable<Bytes> | Iterable<Bytes>;
  /** The encrypted metadata, base64. */
  readonly encryptedMetadata: string;
  readonly proof: AuditProof;
}

/** The result of `verifySeal`. */
export interface SealVerdict {
  readonly valid: boolean;
  /** The first defect found; undefined if the seal is valid. */
  readonly reason?: SealDefect;
  readonly documentId: string;
  /** Number of the version. */
  readonly version: number;
}

/**
 * Verifies that a proof seals this encrypted file and this metadata, for anyone who has them: it
 * needs no keys of the user and no vault. `options` are those of `verifyProof`. What the file was
 * before it was encrypted, and who sealed it, say `verifyOriginal` and `verifyAuthor`. Throws
 * invalid_metadata for bytes that are no metadata of a document, and what reading `file` throws.
 */
export async function verifySeal(
  { file, encryptedMetadata, proof }: StoredVersion,
  { createHash = createWasmHash, ...options }: VerifyOptions & { readonly createHash?: CreateHash },
): Promise<SealVerdict> {
  const { documentId, version } = placeOf(encryptedMetadata);
  const hash = await createHash('sha3-256');
  for await (const piece of file) hash.update(piece);
  const metadataHash = hashMetadata(encryptedMetadata);
  const sealed = { documentId, version, fileHash: hash.digest(), metadataHash };
  const reason = findSealDefect(sealed, proof, options);
  const found = { documentId, version };
  return reason === undefined ? { ...found, valid: true } : { ...found, valid: false, reason };
}
