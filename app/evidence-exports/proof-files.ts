import { createPublicKey } from 'node:crypto';
import type { AuditProof } from '../proof/proof.ts';

/** A small file of an archive. */
export interface TextFile {
  readonly path: string;
  readonly content: string | Buffer;
}

/**
 * Returns the files of a proof in a folder: the signed entry, its signature in DER, and the proof
 * as the API shows it.
 */
export function proofFiles(folder: string, proof: AuditProof): readonly TextFile[] {
  const { id, entryCanonical, entryHash, hsmSignature, hsmKeyId, publicKey } = proof;
  const shown = { id, entryCanonical, entryHash, hsmSignature, hsmKeyId, publicKey };
  return [
    { path: `${folder}/entry.json`, content: entryCanonical },
    { path: `${folder}/signature.der`, content: Buffer.from(hsmSignature, 'base64') },
    { path: `${folder}/proof.json`, content: JSON.stringify(shown) },
  ];
}

/** Returns a public key (SPKI DER in base64) in PEM. */
export function pemOf(publicKey: string): string {
  const der = Buffer.from(publicKey, 'base64');
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
    .export({ format: 'pem', type: 'spki' })
    .toString();
}
