import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { until } from '../../../app/dev/processes/until.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import { verifyProof } from '../../../client/proofs/verify-proof.ts';
import { createVaultClient } from '../../../client/vault.ts';
import type { VaultProcesses } from '../../support/processes/vault-processes.ts';
import { violations } from '../vault/violations.ts';
import { composeSealedText, type StoredText } from '../../../app/proof/sealed-text.ts';

const sealLimitMs = 60_000;

/** Runs one query as the superuser, which row-level security does not restrict. */
export async function query<Row extends object>(
  { databases }: Pick<VaultProcesses, 'databases'>,
  text: string,
): Promise<Row[]> {
  const client = new Client({ connectionString: databases.admin });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Waits until no entry is pending. Resolves with the number of entries. */
export async function untilSealed(vault: Pick<VaultProcesses, 'databases'>): Promise<number> {
  const pending = "select id from audit_entries where state = 'PENDING' limit 1";
  await until(async () => (await query(vault, pending)).length === 0, {
    what: 'every entry to be sealed',
    timeoutMs: sealLimitMs,
    intervalMs: 100,
  });
  const [row] = await query<{ readonly count: string }>(
    vault,
    'select count(*) from audit_entries',
  );
  return Number(row?.count);
}

/**
 * Asserts that every committed action has exactly one sealed entry, and that no other entries
 * exist.
 */
export async function assertNoViolation(
  t: ExecutionContext,
  vault: Pick<VaultProcesses, 'databases'>,
): Promise<void> {
  for (const [what, text] of Object.entries(violations)) {
    t.deepEqual(await query(vault, text), [], what);
  }
}

interface StoredProof extends StoredText {
  readonly id: string;
  readonly entryHash: string;
  readonly hsmSignature: string;
  readonly hsmKeyId: string;
  readonly publicKey: string;
}

const proofs = `
  select e.id, canonical, sealed_at, late, hash as "entryHash", signature as "hsmSignature",
    e.key_id as "hsmKeyId", public_key as "publicKey"
  from audit_entries e left join signing_keys k on k.key_id = e.key_id
  where e.state <> 'PENDING'`;

/**
 * Asserts that each entry verifies with the client's own code under a key of the public registry;
 * all but those that the vault has appended since `untilSealed`.
 */
export async function assertProofsVerify(
  t: ExecutionContext,
  vault: Pick<VaultProcesses, 'baseUrl' | 'databases'>,
): Promise<void> {
  const client = createVaultClient({ baseUrl: vault.baseUrl, createHash: createNodeHash });
  const trustedKeys = (await client.auditKeys())
    .filter(({ purpose }) => purpose === 'audit')
    .map(({ fingerprint }) => fingerprint);
  for (const { canonical, sealed_at, late, ...stored } of await query<StoredProof>(vault, proofs)) {
    const proof = { ...stored, entryCanonical: composeSealedText({ canonical, sealed_at, late }) };
    const { valid, reason } = verifyProof(proof, { trustedKeys });
    if (!valid) t.fail(`${proof.id}: ${reason}`);
  }
}
