import { withPresent, type Author } from '../../authorship/author.ts';
import { verifyAuthor } from '../../authorship/verify-author.ts';
import { ClientError } from '../../errors/client-error.ts';
import { VaultError } from '../../errors/vault-error.ts';
import type { MasterKeys } from '../../keys/master-keys.ts';
import type { AuditProof } from '../../proofs/proof-format.ts';
import type { Proofs } from '../../proofs/proofs.ts';
import { findSealDefect, readSealedVersion, SealError } from '../../proofs/seal.ts';
import type { KeyTrust, TrustedKeys } from '../../proofs/trusted-keys.ts';
import {
  openDocument,
  openVersionOf,
  statedVersionOf,
  type OpenDependencies,
  type OpenedDocument,
  type OpenedVersion,
} from '../open-document.ts';

/** The seal of a document's version, which the client verified. */
export interface Seal {
  /** Number of the sealed version. */
  readonly version: number;
  readonly proof: AuditProof;
  /** By what the key that signed the proof is trusted. */
  readonly keyTrust: KeyTrust;
  /**
   * The statement of the user that the entry holds: the fingerprint of the identity that signed it,
   * 32 hex digits, and its time. Undefined only with `acceptUnstated`.
   */
  readonly author: { readonly fingerprint: string; readonly statedAt: string } | undefined;
}

export interface CertifyOptions {
  /**
   * Accepts a seal without a statement of the user, as clients make that state nothing. By then the
   * vault alone says who sealed the version.
   */
  readonly acceptUnstated?: boolean;
}

interface CertifyDependencies extends OpenDependencies {
  readonly author: Author;
  readonly proofs: Proofs;
  readonly trustedKeys: TrustedKeys;
}

type Owned = MasterKeys & { readonly id: string };

/**
 * Seals the current version of a document, states so, and resolves with the seal, even if the
 * version is already sealed. Verifies that a trusted key of the vault signed the seal, that it is
 * of the file and the metadata that the owner's keys authenticate, and that it holds a statement by
 * an identity of the user. Throws SealError, whose code is seal_invalid, VaultError 400
 * statement_invalid if the device's clock is wrong, and what `openDocument` and `Author.state`
 * throw. If the HSM is unavailable, retries for a while and then throws VaultError proof_not_ready.
 * The vault has recorded the seal by then, so a later call resolves with it.
 */
export async function certifyDocument(
  dependencies: CertifyDependencies,
  owned: Owned,
  options: CertifyOptions = {},
): Promise<Seal> {
  const { trustedKeys } = dependencies;
  const requested = await requestSeal(dependencies, owned);
  const { proof } = requested;
  const sealed = await openSealed(dependencies, owned, requested);
  const keys = await trustedKeys.find(proof, dependencies.memory);
  const defect = findSealDefect(await statedVersionOf(sealed), proof, keys);
  if (defect !== undefined) throw new SealError(proof.id, proof, defect);
  const author = await findAuthor(dependencies, proof, options);
  return { version: sealed.version, proof, keyTrust: trustedKeys.trust, author };
}

/** A proof that the vault answered with, and the document as it was before. */
interface RequestedSeal {
  readonly before: OpenedDocument;
  readonly proof: AuditProof;
}

function requestSeal(dependencies: CertifyDependencies, owned: Owned): Promise<RequestedSeal> {
  const { author, documents, proofs } = dependencies;
  const open = () => openDocument(dependencies, owned);
  return withPresent(open, async (before) => {
    const act = { action: 'document.sealed', ...(await statedVersionOf(before)) } as const;
    const statement = await author.state(act);
    try {
      return { before, proof: (await documents.certify(before.documentId, statement)).proof };
    } catch (error) {
      const proofId = error instanceof VaultError ? error.body['proofId'] : undefined;
      if (typeof proofId !== 'string') throw error;
      return { before, proof: await readProof(proofs, proofId) };
    }
  });
}

/** Reads the proof that the vault named. Throws SealError if its answer has not the form of one. */
async function readProof(proofs: Proofs, proofId: string): Promise<AuditProof> {
  try {
    return await proofs.get(proofId);
  } catch (error) {
    const isMalformed = error instanceof ClientError && error.code === 'invalid_response';
    if (!isMalformed) throw error;
    throw new SealError(proofId, undefined, 'malformed');
  }
}

/** Finds the user's statement in the entry of a seal. Throws SealError. */
async function findAuthor(
  { author }: CertifyDependencies,
  proof: AuditProof,
  { acceptUnstated = false }: CertifyOptions,
): Promise<Seal['author']> {
  const verdict = verifyAuthor(proof);
  if (verdict.standing === 'vault_word') {
    if (acceptUnstated) return undefined;
    throw new SealError(proof.id, proof, 'statement_missing');
  }
  if (verdict.standing === 'invalid') throw new SealError(proof.id, proof, verdict.reason);
  const { fingerprint, statedAt } = verdict;
  if (!(await author.isOwn(fingerprint))) throw new SealError(proof.id, proof, 'other_author');
  return { fingerprint, statedAt };
}

/**
 * Opens the version that the proof says was sealed: the current one, or one that was current
 * between the first look and now, since other clients may change the document meanwhile.
 */
async function openSealed(
  dependencies: OpenDependencies,
  owned: Owned,
  { before, proof }: RequestedSeal,
): Promise<OpenedVersion> {
  const after = await openDocument(dependencies, owned);
  const { version } = before;
  const sealed = readSealedVersion(proof) ?? after.version;
  const isBetween = sealed >= version && sealed < after.version;
  return isBetween ? openVersionOf(dependencies, after, sealed) : after;
}
