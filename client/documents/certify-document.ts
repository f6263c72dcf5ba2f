import { VaultError } from '../errors/vault-error.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import type { AuditProof } from '../proofs/proof-format.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { findSealDefect, readSealedVersion, SealError } from '../proofs/seal.ts';
import type { KeyTrust, TrustedKeys } from '../proofs/trusted-keys.ts';
import { hashMetadata } from './metadata.ts';
import {
  openDocument,
  openVersionOf,
  type OpenDependencies,
  type OpenedDocument,
  type OpenedVersion,
} from './open-document.ts';

/** The seal of a document's version, which the client verified. */
export interface Seal {
  /** Number of the sealed version. */
  readonly version: number;
  readonly proof: AuditProof;
  /** By what the key that signed the proof is trusted. */
  readonly keyTrust: KeyTrust;
}

interface CertifyDependencies extends OpenDependencies {
  readonly proofs: Proofs;
  readonly trustedKeys: TrustedKeys;
}

/**
 * Seals the current version of a document and resolves with its seal, even if the version is
 * already sealed. Verifies that a trusted key of the vault signed the seal, and that it is of the
 * file and the metadata that the owner's keys authenticate. Throws SealError, whose code is
 * seal_invalid, and what `openDocument` throws. If the HSM is unavailable, retries for a while and
 * then throws VaultError proof_not_ready. The vault has recorded the seal by then, so a later call
 * resolves with it.
 */
export async function certifyDocument(
  dependencies: CertifyDependencies,
  owned: MasterKeys & { readonly id: string },
): Promise<Seal> {
  const { trustedKeys } = dependencies;
  const before = await openDocument(dependencies, owned);
  const proof = await requestSeal(dependencies, before.documentId);
  const sealed = await openSealed(dependencies, owned, { before, proof });
  const metadataHash = hashMetadata(sealed.encryptedMetadata);
  const options = await trustedKeys.find(proof, dependencies.memory);
  const defect = findSealDefect({ ...sealed, metadataHash }, proof, options);
  if (defect !== undefined) throw new SealError(proof, defect);
  return { version: sealed.version, proof, keyTrust: trustedKeys.trust };
}

async function requestSeal(
  { documents, proofs }: CertifyDependencies,
  id: string,
): Promise<AuditProof> {
  try {
    return (await documents.certify(id)).proof;
  } catch (error) {
    const proofId = error instanceof VaultError ? error.body['proofId'] : undefined;
    if (typeof proofId !== 'string') throw error;
    return proofs.get(proofId);
  }
}

/**
 * Opens the version that the proof says was sealed: the current one, or one that was current
 * between the first look and now, since other clients may change the document meanwhile.
 */
async function openSealed(
  dependencies: OpenDependencies,
  owned: MasterKeys & { readonly id: string },
  { before, proof }: { readonly before: OpenedDocument; readonly proof: AuditProof },
): Promise<OpenedVersion> {
  const after = await openDocument(dependencies, owned);
  const { version } = before;
  const sealed = readSealedVersion(proof) ?? after.version;
  const isBetween = sealed >= version && sealed < after.version;
  return isBetween ? openVersionOf(dependencies, after, sealed) : after;
}
