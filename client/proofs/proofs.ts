import { z } from 'zod';
import type { Http } from '../http/http.ts';
import { AuditKey, KeyState } from './audit-key.ts';
import { readEntries } from './entries.ts';
import { AuditProof } from './proof-format.ts';

const Verdict = z.object({
  valid: z.boolean(),
  hashValid: z.boolean(),
  signatureValid: z.boolean(),
  /** The state of the signing key; absent if the vault has no such key. */
  keyState: KeyState.optional(),
  /** Whether the HSM did not generate the signing key: others may hold it too. */
  imported: z.boolean().optional(),
  /** The instant since which somebody else may have the signing key. */
  compromisedSince: z.iso.datetime().optional(),
  /** The first defect of the proof, as `verifyProof` names it; absent if it is valid. */
  reason: z.string().optional(),
  verifiedAt: z.iso.datetime(),
});
export type Verdict = z.output<typeof Verdict>;

const EntryItem = z.object({ id: z.uuid(), state: z.string() });

const AuditKeys = z.object({ keys: z.array(AuditKey) });

export interface Proofs {
  /**
   * Resolves with an audit proof. If the entry is not signed yet, retries for a while, then throws
   * VaultError 404 proof_not_ready. Also throws 404 not_found, and 410 entry_unrecoverable,
   * entry_erased, or entry_archived while the month of the entry is archived outside of the vault.
   */
  get(id: string): Promise<AuditProof>;
  /** Resolves with the proofs of the vault's last restores from a backup, newest first. */
  restores(): Promise<AuditProof[]>;
  /**
   * Resolves with the proofs of the entries of the user's identity, newest first, without those
   * that are not signed yet, and those of months that are archived outside of the vault.
   */
  identityChanges(): Promise<AuditProof[]>;
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

    restores: () => http.json(z.array(AuditProof), { method: 'GET', path: '/v1/audit/restores' }),

    async identityChanges() {
      const filter = { resourceType: 'sharing_key', action: 'sharing_key.changed' };
      const proofs: AuditProof[] = [];
      for await (const { id, state } of readEntries(http, EntryItem, filter)) {
        if (state !== 'SEALED') continue;
        proofs.push(await http.json(AuditProof, { method: 'GET', path: proofPath(id) }));
      }
      return proofs;
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
