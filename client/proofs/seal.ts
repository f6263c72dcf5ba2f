import { z } from 'zod';
import type { AuthorDefect } from '../authorship/verify-author.ts';
import { ClientError } from '../errors/client-error.ts';
import type { AuditProof } from './proof-format.ts';
import { verifyProof, type ProofDefect, type VerifyOptions } from './verify-proof.ts';

const SealedEntry = z.object({
  action: z.literal('document.sealed'),
  outcome: z.literal('success'),
  resource: z.object({ type: z.literal('document'), id: z.string() }),
  data: z.object({
    version: z.int(),
    fileHash: z.string(),
    metadataHash: z.string(),
    contentCommitment: z.string().optional(),
  }),
});

/** The version of a document that a seal must be of; all hashes have 64 hex digits. */
export interface SealedVersion {
  readonly documentId: string;
  readonly version: number;
  /** SHA3-256 of the encrypted file. */
  readonly fileHash: string;
  /** SHA3-256 of the bytes that `encryptedMetadata` encodes. */
  readonly metadataHash: string;
  /**
   * The commitment to the file before it was encrypted, as `commitmentOf` computes it; not compared
   * if it is undefined, since only the owner and recipients know it.
   */
  readonly contentCommitment?: string | null;
}

/** Why a valid audit proof is not the seal of a version: what its entry says of another thing. */
export type SealDefect =
  | ProofDefect
  | AuthorDefect
  | 'statement_missing'
  | 'other_action'
  | 'other_document'
  | 'other_version'
  | 'other_file'
  | 'other_metadata'
  | 'other_commitment';

/**
 * Returns why a proof is not a valid seal of this version; undefined if it is one. Verifies the
 * proof as `verifyProof` does, with the same options. Needs no vault and never throws.
 */
export function findSealDefect(
  sealed: SealedVersion,
  proof: AuditProof,
  options: VerifyOptions,
): SealDefect | undefined {
  const { valid, reason } = verifyProof(proof, options);
  if (!valid) return reason;
  const entry = SealedEntry.safeParse(JSON.parse(proof.entryCanonical)).data;
  if (entry === undefined) return 'other_action';
  const { resource, data } = entry;
  if (resource.id !== sealed.documentId) return 'other_document';
  if (data.version !== sealed.version) return 'other_version';
  if (data.fileHash !== sealed.fileHash) return 'other_file';
  if (data.metadataHash !== sealed.metadataHash) return 'other_metadata';
  const { contentCommitment = data.contentCommitment ?? null } = sealed;
  return contentCommitment === (data.contentCommitment ?? null) ? undefined : 'other_commitment';
}

/**
 * Returns the number of the version that a proof says was sealed; undefined if it does not say so.
 * Nothing of the proof is verified.
 */
export function readSealedVersion({ entryCanonical }: AuditProof): number | undefined {
  try {
    return SealedEntry.safeParse(JSON.parse(entryCanonical)).data?.data.version;
  } catch {
    return undefined;
  }
}

/** The vault answered something else than the seal that was asked for. The code is seal_invalid. */
export class SealError extends ClientError {
  /** Id of the audit proof, under which a later one may be asked for. */
  readonly proofId: string;
  /** The proof as the vault sent it, which need not have the form of one. */
  readonly proof: unknown;
  readonly reason: SealDefect;

  constructor(proofId: string, proof: unknown, reason: SealDefect) {
    super('seal_invalid');
    this.proofId = proofId;
    this.proof = proof;
    this.reason = reason;
  }
}
