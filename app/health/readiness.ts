import type { SignerClient } from '../../signer/protocol/client.ts';
import type { TokenState } from '../../signer/protocol/protocol.ts';
import type { EncryptionKeys } from '../encryption-keys/encryption-keys.ts';
import { inTime } from '../async/in-time.ts';
import type { LabelledKeys } from '../signing-keys/labelled-keys.ts';
import { sharedFor } from './check.ts';
import { assertDatabaseServes, type DatabaseFacts } from './database-check.ts';

/** Milliseconds for the answers of database and signer, so that a probe waits for half a second. */
const answerMs = 400;
/** Milliseconds for which an answer is shared. */
const sharedMs = 20;
/** Milliseconds for which a start waits for the keys of a token that is there, or about to be. */
const fetchingMs = 5_000;

interface ReadinessOptions extends DatabaseFacts {
  readonly signer: Pick<SignerClient, 'health'>;
  readonly keys: LabelledKeys;
  readonly encryptionKeys: Pick<EncryptionKeys, 'isReady'>;
  readonly isDraining: () => boolean;
}

/**
 * Creates the function that resolves with whether this process can take traffic, within half a
 * second: the database responds and isolates users, and the signer responds on its socket. The
 * signer need not be logged in to the HSM: while the HSM is away, only what needs it is refused.
 */
export function createReadiness(options: ReadinessOptions): () => Promise<boolean> {
  const { signer, keys, encryptionKeys, isDraining } = options;
  let fetchingSinceMs: number | undefined;

  /**
   * Returns whether this process is about to fetch its first keys, without which logins fail. That
   * takes a moment once the signer runs. If it takes longer, the HSM is away or something is wrong.
   */
  function isFetchingKeys(token: TokenState): boolean {
    if (keys.isReady() && encryptionKeys.isReady()) return false;
    if (!(token === 'ready' || token === 'connecting')) return false;
    fetchingSinceMs ??= performance.now();
    return performance.now() - fetchingSinceMs < fetchingMs;
  }

  const ask = sharedFor(sharedMs, async (): Promise<boolean> => {
    try {
      const answers = Promise.all([
        signer.health({ timeoutMs: answerMs }),
        assertDatabaseServes(options),
      ]);
      const [{ token }] = await inTime(answerMs, answers);
      return !isFetchingKeys(token);
    } catch {
      return false;
    }
  });

  return async () => !isDraining() && (await ask()) && !isDraining();
}
