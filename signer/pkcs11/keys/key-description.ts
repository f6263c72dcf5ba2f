import { formatKeyLabel } from './key-label.ts';
import { findSharedLabels, type SigningKey, type SigningKeys } from './keyring.ts';
import type { KeyInToken } from '../../ipc/messages.ts';

/** Describes keys for the signer, without their handles. */
export function describeKeys({ used, unadopted }: SigningKeys): {
  readonly keys: KeyInToken[];
  readonly unadopted: KeyInToken[];
} {
  return {
    // A key that nobody may use takes no label away from a key that is used.
    keys: describeAmong(used, used),
    unadopted: describeAmong(unadopted, [...used, ...unadopted]),
  };
}

function describeAmong(keys: readonly SigningKey[], all: readonly SigningKey[]): KeyInToken[] {
  const shared = findSharedLabels(all);
  return keys.map(({ purpose, generation, keyId, spki, imported }) => ({
    purpose,
    generation,
    keyId,
    spki,
    imported,
    contested: shared.has(formatKeyLabel(purpose, generation)),
  }));
}
