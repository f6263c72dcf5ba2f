import { createHash, verify } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { createVaultClient } from '../../../client/vault.ts';
import { askOpenssl } from '../../support/audit/openssl.ts';
import { readSealed } from './audit-check.ts';
import type { VaultProcesses } from '../../support/processes/vault-processes.ts';
import { composeSealedText, type StoredText } from '../../../app/proof/sealed-text.ts';

const opensslSample = 50;

type StoredProof = StoredText & Omit<AuditProof, 'publicKey' | 'entryCanonical'>;

/** Entries that are read at once, so that a log of any length fits into memory. */
const pageRows = 20_000;

interface SealsCheckOptions {
  /** Proofs that the vault returned, which must be in the log. */
  readonly answered: readonly AuditProof[];
  /** Returns a number from 0 to 1, which chooses the sample. */
  readonly random: () => number;
}

/**
 * Asserts that each seal verifies under the key of its id in the public registry: all with Node's
 * OpenSSL, and a sample with the openssl command. Resolves with the number of the seals.
 */
export async function assertSealsVerify(
  t: ExecutionContext,
  vault: Pick<VaultProcesses, 'baseUrl' | 'databases'>,
  { answered, random }: SealsCheckOptions,
): Promise<number> {
  const { auditKeys } = createVaultClient({ baseUrl: vault.baseUrl });
  const keys = new Map((await auditKeys()).map(({ keyId, publicKey }) => [keyId, publicKey]));
  const missing = new Map(answered.map((proof) => [proof.id, proof]));
  const sample: AuditProof[] = [];
  let seals = 0;
  for await (const proof of listProofs(vault, keys)) {
    seals += 1;
    if (!isSealed(proof)) t.fail(`${proof.id}: the seal is not valid`);
    const expected = missing.get(proof.id);
    if (expected !== undefined) t.deepEqual(proof, expected);
    missing.delete(proof.id);
    // Every proof gets into the sample with the same probability.
    const place = seals <= opensslSample ? seals - 1 : Math.floor(random() * seals);
    if (place < opensslSample) sample[place] = proof;
  }
  t.deepEqual([...missing.keys()], []);
  for (const proof of sample) t.is(await askOpenssl(proof), 'Verified OK', proof.id);
  return seals;
}

/**
 * Yields the proof of each entry.
 * @param keys Public keys by their ids.
 */
async function* listProofs(
  vault: Pick<VaultProcesses, 'databases'>,
  keys: ReadonlyMap<string, string>,
): AsyncGenerator<AuditProof, void, void> {
  let last: string | undefined = '00000000-0000-0000-0000-000000000000';
  while (last !== undefined) {
    const stored: StoredProof[] = await readSealed<StoredProof>(
      vault,
      `select id, canonical, sealed_at, late, hash as "entryHash", signature as "hsmSignature",
         key_id as "hsmKeyId" from audit_entries where id > '${last}'
       order by id limit ${pageRows}`,
    );
    for (const { canonical, sealed_at, late, ...entry } of stored) {
      const publicKey = keys.get(entry.hsmKeyId) ?? '';
      const entryCanonical = composeSealedText({ canonical, sealed_at, late });
      yield { ...entry, entryCanonical, publicKey };
    }
    last = stored.at(-1)?.id;
  }
}

function isSealed({ entryCanonical, entryHash, hsmSignature, publicKey }: AuditProof): boolean {
  const text = Buffer.from(entryCanonical);
  const key = { key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' } as const;
  const isHash = createHash('sha3-256').update(text).digest('hex') === entryHash;
  return isHash && verify('sha3-256', text, key, Buffer.from(hsmSignature, 'base64'));
}
