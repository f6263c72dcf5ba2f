import type { Memory } from '../memory/memory.ts';
import type { AuditKey } from './audit-key.ts';
import { verifyKeyChain } from './key-chain.ts';
import type { AuditProof } from './proof-format.ts';
import type { VerifyOptions } from './verify-proof.ts';

/** Milliseconds for which the vault's list of keys is used without being fetched again. */
const maxAgeMs = 5 * 60_000;

/**
 * By what the keys of a vault are trusted: by fingerprints that the application gave, or because
 * the vault showed their first ones when this device first asked. In the second case, a vault that
 * lied from the start is not found out.
 */
export type KeyTrust = 'pinned' | 'first_seen';

interface Known {
  readonly keys: readonly AuditKey[];
  readonly fetchedAt: Date;
}

export type TrustedKeys = ReturnType<typeof createTrustedKeys>;

type KeyMemory = Pick<Memory, 'vaultKeys' | 'sawVaultKeys'>;

/**
 * Creates the check of the audit keys of a vault: `pinned` are fingerprints of the vault's first
 * keys. Without them, the first keys that the vault showed are remembered, in the memory of the
 * session and for as long as the client exists, and all later ones must be vouched for by these.
 */
export function createTrustedKeys({
  listKeys,
  pinned,
  now,
}: {
  readonly listKeys: () => Promise<AuditKey[]>;
  readonly pinned: readonly string[] | undefined;
  readonly now: () => Date;
}) {
  let firstSeen: readonly string[] | undefined;
  let known: Known | undefined;

  async function fetchKeys(): Promise<readonly AuditKey[]> {
    const keys = await listKeys();
    firstSeen ??= keys.filter(isFirst).map(({ fingerprint }) => fingerprint);
    known = { keys, fetchedAt: now() };
    return keys;
  }

  /** Resolves with the first keys of the vault, as this device has seen them first. */
  async function rememberFirst(memory: KeyMemory): Promise<readonly string[]> {
    const seen = firstSeen ?? [];
    if (seen.length > 0) await memory.sawVaultKeys(seen);
    return (await memory.vaultKeys()) ?? seen;
  }

  function isFresh({ keys, fetchedAt }: Known, { hsmKeyId }: AuditProof): boolean {
    const isYoung = now().getTime() - fetchedAt.getTime() < maxAgeMs;
    return isYoung && keys.some(({ keyId }) => keyId === hsmKeyId);
  }

  const trust: KeyTrust = pinned === undefined ? 'first_seen' : 'pinned';

  return {
    trust,

    /** Resolves with the keys that are trusted for a proof, and what is known of all keys. */
    async find(proof: AuditProof, memory: KeyMemory): Promise<VerifyOptions> {
      const isKnown = known !== undefined && isFresh(known, proof);
      const keys = isKnown ? (known?.keys ?? []) : await fetchKeys();
      const first = pinned ?? (await rememberFirst(memory));
      return { trustedKeys: verifyKeyChain(keys, { pinned: first }), keys };
    },
  };
}

function isFirst({ purpose, vouchedBy }: AuditKey): boolean {
  return purpose === 'audit' && vouchedBy === null;
}
