import type { RegisteredKey } from './registered-key.ts';

/** Milliseconds by which the clocks of two signers may differ. */
const toleranceMs = 60_000;

/** Why a signature that is one of the key is not valid all the same. */
export type ValidityDefect = 'key_compromised' | 'outside_key_validity';

type Validity = Pick<RegisteredKey, 'state' | 'activatedAt' | 'retiredAt' | 'compromisedSince'>;

/** The circumstances of one entry that a key has signed. */
interface SignedEntry {
  /** `sealedAt` of the entry; undefined if the text is no entry. */
  readonly sealedAt: string | undefined;
  /** When the vault stored the entry; undefined unless the vault itself holds this very entry. */
  readonly heldSince: Date | undefined;
}

/**
 * Returns why a key must not have signed an entry; undefined if it may have. Whoever else has a
 * compromised key can write any `sealedAt`, so that only what the vault holds from before the
 * compromise counts. Any other key must have been active at `sealedAt`, give or take 60 s.
 */
export function findValidityDefect(
  key: Validity,
  { sealedAt, heldSince }: SignedEntry,
): ValidityDefect | undefined {
  const { activatedAt, retiredAt, compromisedSince: since } = key;
  if (key.state === 'COMPROMISED') {
    const isKnownBefore =
      since !== null && heldSince !== undefined && heldSince < since && sealedAt !== undefined;
    if (!isKnownBefore || sealedAt >= since.toISOString()) return 'key_compromised';
  }
  if (sealedAt === undefined) return undefined;
  // Texts of this form are in the order of their instants.
  const isTooEarly = activatedAt === null || sealedAt < shifted(activatedAt, -toleranceMs);
  const isTooLate = retiredAt !== null && sealedAt > shifted(retiredAt, toleranceMs);
  return isTooEarly || isTooLate ? 'outside_key_validity' : undefined;
}

function shifted(date: Date, ms: number): string {
  return new Date(date.getTime() + ms).toISOString();
}
