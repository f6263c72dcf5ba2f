import type { Tx } from '../db/database.ts';
import type { SecondFactors } from '../identity-provider/identity-provider.ts';
import { removePending, type Pending } from './rows/pending-rows.ts';
import { setMfaUser, type MfaUserRow } from './rows/user-rows.ts';

type Recorded = 'mfa.enabled' | 'mfa.disabled' | 'mfa.codes_regenerated';

/** Says what is to be recorded of earlier changes, whose process died or lost the answer. */
export interface Settlement {
  readonly actions: readonly Recorded[];
  /** Whether the set-up has ended: it took effect, or another way to enable MFA came first. */
  readonly endsSetup: boolean;
  /** Whether a begun change has ended, by success or because it did not take effect. */
  readonly endsChange: boolean;
}

/**
 * Compares what was begun with what the identity provider has. An entry is due for each change that
 * took effect and was not recorded.
 */
export function findSettlement(
  { change, codesId }: Pick<MfaUserRow, 'change' | 'codesId'>,
  pending: Pending | undefined,
  { totps, recoveryCodes }: SecondFactors,
): Settlement {
  const isEnabled = totps.length > 0;
  const isSetUp = pending !== undefined && totps.some(({ id }) => id === pending.credentialId);
  const isRegenerated = change === 'regenerate' && recoveryCodes.some(({ id }) => id === codesId);
  return {
    actions: [
      ...(change === 'disable' && !isEnabled ? ['mfa.disabled' as const] : []),
      ...(isSetUp ? ['mfa.enabled' as const] : []),
      ...(isRegenerated ? ['mfa.codes_regenerated' as const] : []),
    ],
    endsSetup: pending !== undefined && isEnabled,
    endsChange: change !== null,
  };
}

/** Stores that earlier changes have ended. Append the entries of `actions` in the same `tx`. */
export async function storeSettlement(
  tx: Tx,
  user: MfaUserRow,
  { endsSetup, endsChange }: Settlement,
): Promise<void> {
  if (endsSetup) await removePending(tx, user.userId);
  if (endsChange) await setMfaUser(tx, user, { change: null, codes_id: null });
}
