import { z } from 'zod';
import type { Memory } from '../memory/memory.ts';
import type { AuditProof } from './proof-format.ts';
import type { Proofs } from './proofs.ts';
import type { TrustedKeys } from './trusted-keys.ts';
import { verifyProof } from './verify-proof.ts';

/** The signed text of the entry of a restore; other members are not needed. */
const RestoreEntry = z.object({
  action: z.literal('vault.restored'),
  sealedAt: z.iso.datetime(),
});

/** A restore of the vault from a backup, which the vault has sealed. */
export interface Restore {
  /** The time at which the entry was sealed, by the vault's clock. */
  readonly sealedAt: Date;
  readonly proof: AuditProof;
}

interface RestoresDependencies {
  readonly proofs: Pick<Proofs, 'restores'>;
  readonly trustedKeys: TrustedKeys;
  readonly memory: Memory;
}

/**
 * Lists the restores of the vault that it has sealed, newest first, and leaves out proofs that are
 * not valid by trusted keys.
 */
export async function listRestores({
  proofs,
  trustedKeys,
  memory,
}: RestoresDependencies): Promise<Restore[]> {
  const restores: Restore[] = [];
  for (const proof of await proofs.restores()) {
    const options = await trustedKeys.find(proof, memory);
    if (!verifyProof(proof, options).valid) continue;
    const { data } = RestoreEntry.safeParse(JSON.parse(proof.entryCanonical));
    if (data !== undefined) restores.push({ sealedAt: new Date(data.sealedAt), proof });
  }
  return restores;
}
