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

/**
 * Reads stored entries by a query, which is repeated until all of them are sealed: the vault may
 * append entries of its own at any time.
 */
export async function readSealed<Row extends StoredText>(
  vault: Pick<VaultProcesses, 'databases'>,
  text: string,
): Promise<Row[]> {
  const read = async () => {
    const rows = await query<Row | Unsealed>(vault, text);
    return rows.every(isSealed<Row>) && rows;
  };
  return until(read, {
    what: 'every entry to be sealed',
    timeoutMs: sealLimitMs,
    intervalMs: 100,
  });
}

interface Unsealed {
  readonly sealed_at: null;
}

function isSealed<Row extends StoredText>(row: Row | Unsealed): row is Row {
  return row.sealed_at !== null;
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
  from audit_entries e left join signing_keys k on k.key_id = e.key_id`;

/**
 * Asserts that each entry verifies with the client's own code under a key of the public registry.
 */
export async function assertProofsVerify(
  t: ExecutionContext,
  vault: Pick<VaultProcesses, 'baseUrl' | 'databases'>,
): Promise<void> {
  const client = createVaultClient({ baseUrl: vault.baseUrl, createHash: createNodeHash });
  const trustedKeys = (await client.auditKeys())
    .filter(({ purpose }) => purpose === 'audit')
    .map(({ fingerprint }) => fingerprint);
  for (const { canonical, sealed_at, late, ...stored } of await readSealed<StoredProof>(
    vault,
    proofs,
  )) {
    const proof = { ...stored, entryCanonical: composeSealedText({ canonical, sealed_at, late }) };
    const { valid, reason } = verifyProof(proof, { trustedKeys });
    if (!valid) t.fail(`${proof.id}: ${reason}`);
  }
}
