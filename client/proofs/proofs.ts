import { z } from 'zod';
import type { Http } from '../http/http.ts';
import { AuditProof } from './proof-format.ts';

const Verdict = z.object({
  valid: z.boolean(),
  hashValid: z.boolean(),
  signatureValid: z.boolean(),
  verifiedAt: z.iso.datetime(),
});
export type Verdict = z.output<typeof Verdict>;

const AuditKey = z.object({
  keyId: z.string(),
  purpose: z.string(),
  algorithm: z.string(),
  /** SubjectPublicKeyInfo, DER, base64. */
  publicKey: z.string(),
  /** SHA-256 of the DER, 64 hex digits. */
  fingerprint: z.string(),
  generation: z.int(),
  state: z.enum(['CREATED', 'ACTIVE', 'RETIRED']),
  registeredAt: z.iso.datetime(),
  activatedAt: z.iso.datetime().nullable(),
  retiredAt: z.iso.datetime().nullable(),
  /**
   * Audit proof of the entry that records this key, signed by the audit key of that time; null
   * until the entry is signed.
   */
  record: AuditProof.nullable(),
  /**
   * Id of the other key that signed `record`. If null, no other key vouches for this key: compare
   * its fingerprint with a published one.
   */
  vouchedBy: z.string().nullable(),
});
/** A public key of the vault, of any generation and state. */
export type AuditKey = z.output<typeof AuditKey>;

const AuditKeys = z.object({ keys: z.array(AuditKey) });

export interface Proofs {
  /**
   * Resolves with an audit proof. If the entry is not signed yet, retries for a while, then throws
   * VaultError 404 proof_not_ready. Also throws 404 not_found, and 410 entry_unrecoverable or
   * entry_erased.
   */
  get(id: string): Promise<AuditProof>;
  /**
   * Asks the vault to verify the proof with this id; `verifyProof` verifies a proof without the
   * vault. Throws what `get` throws.
   */
  verify(id: string): Promise<Verdict>;
  /** Asks the vault to verify a proof that the caller holds. */
  verifyExternal(proof: AuditProof): Promise<Verdict>;
  /**
   * Resolves with the vault's public keys; needs no login. Compare their fingerprints with those
   * published elsewhere before you trust the keys.
   */
  keys(): Promise<AuditKey[]>;
}

export function createProofs({ http }: { readonly http: Http }): Proofs {
  const proofPath = (id: string) => `/v1/audit/proof/${encodeURIComponent(id)}`;

  return {
    get(id) {
      return http.json(AuditProof, { method: 'GET', path: proofPath(id) });
    },

    verify(id) {
      return http.json(Verdict, { method: 'GET', path: `${proofPath(id)}/verify` });
    },

    verifyExternal(proof) {
      const path = '/v1/audit/proof/verify-external';
      return http.json(Verdict, { method: 'POST', path, repeatable: true, json: { proof } });
    },

    async keys() {
      return (await http.json(AuditKeys, { method: 'GET', path: '/v1/audit/keys' })).keys;
    },
  };
}
