import { createHash, verify } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { createVaultClient } from '../../../client/vault.ts';
import { askOpenssl } from '../../support/audit/openssl.ts';
import { query } from './audit-check.ts';
import type { VaultProcesses } from '../../support/processes/vault-processes.ts';
import { composeSealedText, type StoredText } from '../../../app/proof/sealed-text.ts';

const opensslSample = 50;

/**
 * Asserts that each seal verifies under the key of its id in the public registry: all with Node's
 * OpenSSL, and a sample with the openssl command. Resolves with the proofs by their ids.
 * @param random Returns a number from 0 to 1, which chooses the sample.
 */
export async function assertSealsVerify(
  t: ExecutionContext,
  vault: VaultProcesses,
  random: () => number,
): Promise<ReadonlyMap<string, AuditProof>> {
  const { auditKeys } = createVaultClient({ baseUrl: vault.baseUrl });
  const keys = new Map((await auditKeys()).map(({ keyId, publicKey }) => [keyId, publicKey]));
  const stored = await query<StoredText & Omit<AuditProof, 'publicKey' | 'entryCanonical'>>(
    vault,
    `select id, canonical, sealed_at, late, hash as "entryHash", signature as "hsmSignature",
       key_id as "hsmKeyId" from audit_entries`,
  );
  const proofs = new Map<string, AuditProof>();
  for (const { canonical, sealed_at, late, ...entry } of stored) {
    const publicKey = keys.get(entry.hsmKeyId) ?? '';
    const entryCanonical = composeSealedText({ canonical, sealed_at, late });
    const proof = { ...entry, entryCanonical, publicKey };
    if (!isSealed(proof)) t.fail(`${proof.id}: the seal is not valid`);
    proofs.set(proof.id, proof);
  }
  const all = [...proofs.values()];
  const sample = Array.from({ length: opensslSample }, () => all.at(random() * all.length));
  for (const proof of new Set(sample)) {
    if (proof !== undefined) t.is(await askOpenssl(proof), 'Verified OK', proof.id);
  }
  return proofs;
}

function isSealed({ entryCanonical, entryHash, hsmSignature, publicKey }: AuditProof): boolean {
  const text = Buffer.from(entryCanonical);
  const key = { key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' } as const;
  const isHash = createHash('sha3-256').update(text).digest('hex') === entryHash;
  return isHash && verify('sha3-256', text, key, Buffer.from(hsmSignature, 'base64'));
}
