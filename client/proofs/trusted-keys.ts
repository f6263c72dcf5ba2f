import type { AuditKey } from './audit-key.ts';
import { verifyKeyChain } from './key-chain.ts';
import type { AuditProof } from './proof-format.ts';
import type { VerifyOptions } from './verify-proof.ts';

/** Milliseconds for which the vault's list of keys is used without being fetched again. */
const maxAgeMs = 5 * 60_000;

/**
 * By what the keys of a vault are trusted: by fingerprints that the application gave, or because
 * the vault showed their first ones when this client first asked. In the second case, a vault that
 * lied from the start is not found out.
 */
export type KeyTrust = 'pinned' | 'first_seen';

interface Known {
  readonly keys: readonly AuditKey[];
  readonly fetchedAt: Date;
}

export type TrustedKeys = ReturnType<typeof createTrustedKeys>;

/**
 * Creates the memory of a client for the audit keys of its vault: `pinned` are fingerprints of the
 * vault's first keys. Without them, the first keys that the vault shows are remembered for as long
 * as the client exists, and all later ones must be vouched for by these.
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

  function isFresh({ keys, fetchedAt }: Known, { hsmKeyId }: AuditProof): boolean {
    const isYoung = now().getTime() - fetchedAt.getTime() < maxAgeMs;
    return isYoung && keys.some(({ keyId }) => keyId === hsmKeyId);
  }

  const trust: KeyTrust = pinned === undefined ? 'first_seen' : 'pinned';

  return {
    trust,

    /** Resolves with the keys that are trusted for a proof, and what is known of all keys. */
    async find(proof: AuditProof): Promise<VerifyOptions> {
      const isKnown = known !== undefined && isFresh(known, proof);
      const keys = isKnown ? (known?.keys ?? []) : await fetchKeys();
      const trustedKeys = verifyKeyChain(keys, { pinned: pinned ?? firstSeen ?? [] });
      return { trustedKeys, keys };
    },
  };
}

function isFirst({ purpose, vouchedBy }: AuditKey): boolean {
  return purpose === 'audit' && vouchedBy === null;
}
