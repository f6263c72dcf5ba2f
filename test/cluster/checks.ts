import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { verifyKeyChain } from '../../client/proofs/key-chain.ts';
import {
  assertNoViolation,
  assertProofsVerify,
  query,
  untilSealed,
} from '../faults/audit/audit-check.ts';
import { assertSealsVerify } from '../faults/audit/seals-check.ts';
import type { ClusterVault } from '../support/cluster/cluster-vault.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { runDemo, type DemoOptions } from '../support/processes/run-demo.ts';
import { keysOf } from './signing-keys.ts';

/**
 * Asserts that the demo certifies a file with the vault, and that OpenSSL verifies the proof.
 * @param access Another way to the vault than its own.
 */
export async function assertDemoRuns(
  t: ExecutionContext,
  vault: ClusterVault,
  access: Pick<DemoOptions, 'baseUrl' | 'authorities'> = {},
): Promise<void> {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'agreement.txt'), 'what was agreed');
  const args = ['agreement.txt'];
  const { code, text } = await runDemo(t, { vault, directory, args, ...access });
  t.is(code, 0, text);
  t.regex(text, /^openssl dgst -sha3-256 -verify .*: Verified OK$/m);
}

/** Waits until every entry is sealed, and asserts that the log is whole and its proofs verify. */
export async function assertWhole(t: ExecutionContext, vault: ClusterVault): Promise<void> {
  t.log(`${await untilSealed(vault)} entries`);
  await assertNoViolation(t, vault);
  await assertProofsVerify(t, vault);
}

/**
 * Asserts that the log is whole after rotations: each entry is sealed once, each seal verifies with
 * OpenSSL, and the newest one is of the active key. The first key vouches for all others.
 * @param random Returns a number from 0 to 1, which chooses what the openssl command verifies.
 */
export async function assertKeysGoOn(
  t: ExecutionContext,
  vault: ClusterVault,
  random: () => number,
): Promise<void> {
  await assertWhole(t, vault);
  await assertSealsVerify(t, vault, { answered: [], random });
  const keys = (await keysOf(vault)).filter(({ purpose }) => purpose === 'audit');
  const first = keys.find(({ generation }) => generation === 1);
  const trusted = verifyKeyChain(keys, { pinned: [first?.fingerprint ?? ''] });
  t.deepEqual(trusted.toSorted(), keys.map(({ keyId }) => keyId).toSorted());
  const [newest] = await query<{ readonly keyId: string }>(
    vault,
    'select key_id as "keyId" from audit_entries order by id desc limit 1',
  );
  t.is(newest?.keyId, keys.find(({ state }) => state === 'ACTIVE')?.keyId);
}
