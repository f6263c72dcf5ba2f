import { formatKeyLabel } from './key-label.ts';
import { findSharedLabels, type SigningKey } from './keyring.ts';
import type { KeyInToken } from '../../hsm/messages.ts';

/** What the signer may know of the keys: all but their handles. */
export function describeKeys(keys: readonly SigningKey[]): KeyInToken[] {
  const shared = findSharedLabels(keys);
  return keys.map(({ purpose, generation, keyId, spki }) => ({
    purpose,
    generation,
    keyId,
    spki,
    contested: shared.has(formatKeyLabel(purpose, generation)),
  }));
}
