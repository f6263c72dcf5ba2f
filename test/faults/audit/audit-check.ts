import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { until } from '../../../app/dev/processes/until.ts';
import { createNodeFileHash } from '../../../client/node/file-hash.ts';
import { verifyProof } from '../../../client/proofs/proof.ts';
import { createVaultClient } from '../../../client/vault.ts';
import type { VaultProcesses } from '../../support/processes/vault-processes.ts';
import { violations } from '../vault/violations.ts';

const sealLimitMs = 60_000;

/** As the superuser, whom no row-level security binds. */
export async function query<Row extends object>(
  { databases }: VaultProcesses,
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

/** Waits until the backlog is gone; gives the number of entries. */
export async function untilSealed(vault: VaultProcesses): Promise<number> {
  const pending = "select id from audit_entries where state = 'PENDING' limit 1";
  await until(async () => (await query(vault, pending)).length === 0, {
    what: 'every entry to be sealed',
    timeoutMs: sealLimitMs,
    intervalMs: 100,
  });
  const [row] = await query<{ count: string }>(vault, 'select count(*) from audit_entries');
  return Number(row?.count);
}

/** Every committed action has one sealed entry, and nothing else has one. */
export async function assertNoViolation(t: ExecutionContext, vault: VaultProcesses): Promise<void> {
  for (const [what, text] of Object.entries(violations)) {
    t.deepEqual(await query(vault, text), [], what);
  }
}

interface StoredProof {
  id: string;
  entryCanonical: string;
  entryHash: string;
  hsmSignature: string;
  hsmKeyId: string;
  publicKey: string;
}

const proofs = `
  select e.id, canonical as "entryCanonical", hash as "entryHash", signature as "hsmSignature",
    e.key_id as "hsmKeyId", public_key as "publicKey"
  from audit_entries e left join signing_keys k on k.key_id = e.key_id`;

/** Each entry verifies by the client's own code, under keys of the public registry. */
export async function assertProofsVerify(
  t: ExecutionContext,
  vault: VaultProcesses,
): Promise<void> {
  const client = createVaultClient({ baseUrl: vault.baseUrl, createFileHash: createNodeFileHash });
  const trustedKeys = (await client.auditKeys())
    .filter(({ purpose }) => purpose === 'audit')
    .map(({ fingerprint }) => fingerprint);
  for (const proof of await query<StoredProof>(vault, proofs)) {
    const { valid, reason } = verifyProof(proof, { trustedKeys });
    if (!valid) t.fail(`${proof.id}: ${reason}`);
  }
}
