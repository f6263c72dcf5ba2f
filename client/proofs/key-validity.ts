import type { AuditKey } from './audit-key.ts';

/** Milliseconds by which the clocks of two signers may differ. */
const toleranceMs = 60_000;

/** The members of an `AuditKey` by which a proof is judged. */
export type KeyFacts = Pick<AuditKey, 'keyId' | 'state' | 'imported' | 'activatedAt' | 'retiredAt'>;

/** Why a signature that is one of the key is not valid all the same. */
export type ValidityDefect = 'key_compromised' | 'outside_key_validity';

/**
 * Returns why a key must not have signed an entry; undefined if it may have. Whoever else has a
 * compromised key can write any `sealedAt`, so that without the vault nothing that it signed
 * counts. Any other key must have been active at `sealedAt`, give or take 60 s. `sealedAt` is
 * undefined if what was signed is no entry.
 */
export function findValidityDefect(
  { state, activatedAt, retiredAt }: KeyFacts,
  sealedAt: string | undefined,
): ValidityDefect | undefined {
  if (state === 'COMPROMISED') return 'key_compromised';
  if (sealedAt === undefined) return undefined;
  // Texts of this form are in the order of their instants.
  const isTooEarly = activatedAt === null || sealedAt < shifted(activatedAt, -toleranceMs);
  const isTooLate = retiredAt !== null && sealedAt > shifted(retiredAt, toleranceMs);
  return isTooEarly || isTooLate ? 'outside_key_validity' : undefined;
}

function shifted(instant: string, ms: number): string {
  return new Date(Date.parse(instant) + ms).toISOString();
}
