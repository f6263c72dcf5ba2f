import type { Logger } from 'pino';
import { formatKeyLabel } from '../keys/key-label.ts';
import type { SigningKey } from '../keys/keyring.ts';

/**
 * Milliseconds for which a key must look imported before it is called so: a token may show a key
 * while it is still being generated, before it says where the key comes from.
 */
const settleMs = 1_000;
/** Milliseconds after which the keys are read again, certainly more than `settleMs`. */
const lookAgainMs = 1_200;

interface UnusedKeysOptions {
  readonly log: Logger;
  /** Reads the keys of the token again. */
  readonly refresh: () => Promise<void>;
}

/** Creates the function that says, once for each key, why the signer does not use it. */
export function createUnusedKeysLog({ log, refresh }: UnusedKeysOptions) {
  const seenAt = new Map<string, number>();
  const told = new Set<string>();

  function tell({ keyId, purpose, generation }: SigningKey): void {
    told.add(keyId);
    log.warn(
      { key: keyId, label: formatKeyLabel(purpose, generation) },
      'a key is not used: the token did not generate it, and nobody adopted it (docs/keys.md)',
    );
  }

  function lookAgain(): void {
    // A token that fails meanwhile is read again when it is back.
    setTimeout(() => void refresh().catch(() => undefined), lookAgainMs).unref();
  }

  return (unadopted: readonly SigningKey[]): void => {
    for (const key of unadopted.filter(({ keyId }) => !told.has(keyId))) {
      const since = seenAt.get(key.keyId);
      if (since === undefined) {
        seenAt.set(key.keyId, performance.now());
        lookAgain();
      } else if (performance.now() - since >= settleMs) tell(key);
    }
  };
}
