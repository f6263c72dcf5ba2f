import { formatKeyLabel } from './key-label.ts';
import { findSharedLabels, type SigningKey } from './keyring.ts';
import type { KeyInToken } from '../../ipc/messages.ts';

/** Describes keys for the signer, without their handles. */
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
