import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';

/** The members of an entry. */
export type Entry = Readonly<Record<string, unknown>>;

/** Parses the entry of a proof. */
export const entryOf = (proof: unknown) =>
  JSON.parse((proof as AuditProof).entryCanonical) as Entry;

/** A key pair of somebody else than the vault's HSM. */
export function createForger() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const fingerprint = createHash('sha256').update(der).digest('hex');
  return {
    fingerprint,
    keyId: fingerprint.slice(0, 32),
    publicKey: der.toString('base64'),
    /** Signs an entry as an audit proof. */
    prove(entry: Readonly<Record<string, unknown>>): AuditProof {
      const entryCanonical = canonicalize(entry) ?? '';
      return {
        id: String(entry['id']),
        entryCanonical,
        entryHash: createHash('sha3-256').update(entryCanonical).digest('hex'),
        hsmSignature: sign('sha3-256', Buffer.from(entryCanonical), privateKey).toString('base64'),
        hsmKeyId: fingerprint.slice(0, 32),
        publicKey: der.toString('base64'),
      };
    },
  };
}
