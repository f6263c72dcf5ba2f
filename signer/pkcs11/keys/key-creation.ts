import { setTimeout as delay } from 'node:timers/promises';
import type { SigningPurpose } from '../../protocol/protocol.ts';
import { SignerUnavailable } from '../../protocol/signer-error.ts';
import { watchContests, type ContestWatch } from './contests.ts';
import { findKeysOf, type StoredKey } from './key-objects.ts';
import type { KeyPurpose } from './key-label.ts';
import { generateKey } from './key-templates.ts';
import { loadSigningKey, type SigningKey } from './keyring.ts';
import * as ck from '../library/pkcs11.ts';
import { Pkcs11Error } from '../library/pkcs11-error.ts';
import { retry } from '../library/retry.ts';

const maxAttempts = 20;
/** Long enough for another to have destroyed its own key as well. */
const pauseMinMs = 150;

/** A key that is made must not be left unsettled because the token is away for a moment. */
const settling = {
  attempts: 8,
  pauseMs: 200,
  mayPass: (error: unknown) =>
    error instanceof SignerUnavailable || (error instanceof Pkcs11Error && error.mayPass),
};

/** A token to make keys in. */
export type Workplace = {
  /** Works on a session that may write. */
  use<T>(work: (session: ck.Session) => Promise<T> | T): Promise<T>;
  /**
   * Starts the library anew. SoftHSM, having changed a token itself, may not see what others had
   * just changed.
   */
  renew(): Promise<void>;
};

/**
 * Makes the key whose number follows the highest of its purpose, and `after`. Others may do so on the same token
 * at once, and may have died of it: no label stays with two keys but where both their makers were
 * killed, and then the next number is taken. Throws SignerUnavailable `busy`.
 */
export async function createNextKey(
  token: Workplace,
  { purpose, after, rsaBits }: { purpose: SigningPurpose; after: number; rsaBits: number },
): Promise<SigningKey> {
  const isLive = watchContests(() => performance.now());
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const made = await token.use((session) =>
      makeKey(session, { purpose, highest: highestOf(session, purpose), after, rsaBits }),
    );
    const key = await keepUnlessShared(token, made, { isLive, keep: loadSigningKey });
    if (key) return key;
    await pause(attempt);
  }
  throw new SignerUnavailable('busy', `others made ${purpose} keys at each attempt`);
}

/** Makes the first key of a purpose, or resolves with false when there is one. */
export async function createFirstKey(
  token: Workplace,
  { purpose, rsaBits }: { purpose: KeyPurpose; rsaBits: number },
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const made = await token.use(async (session) =>
      highestOf(session, purpose) === 0
        ? makeKey(session, { purpose, highest: 0, after: 0, rsaBits })
        : undefined,
    );
    if (!made) return false;
    if (await keepUnlessShared(token, made, { isLive: () => false, keep: () => true })) return true;
    await pause(attempt);
  }
}

/** `highest` was so in the token, 0 for none; `id` is the CKA_ID, which no other key has. */
type MadeKey<P extends KeyPurpose> = {
  purpose: P;
  highest: number;
  generation: number;
  id: Buffer;
};

function highestOf(session: ck.Session, purpose: KeyPurpose): number {
  return findKeysOf(session, purpose).at(-1)?.generation ?? 0;
}

async function makeKey<P extends KeyPurpose>(
  session: ck.Session,
  {
    purpose,
    highest,
    after,
    rsaBits,
  }: { purpose: P; highest: number; after: number; rsaBits: number },
): Promise<MadeKey<P>> {
  const generation = Math.max(highest, after) + 1;
  const handle = await generateKey[purpose](session, { generation, rsaBits });
  const [id] = session.readAttributes(handle, [ck.CKA_ID]);
  return { purpose, highest, generation, id };
}

/**
 * Destroys the key again, and resolves with undefined, if another has its number or the number
 * before it is contested just now. Whoever comes second sees the first, so of two that do this at
 * once never both keep theirs.
 */
async function keepUnlessShared<P extends KeyPurpose, T>(
  token: Workplace,
  { purpose, highest, generation, id }: MadeKey<P>,
  { isLive, keep }: { isLive: ContestWatch; keep: (session: ck.Session, key: StoredKey<P>) => T },
): Promise<T | undefined> {
  const settle = (session: ck.Session): T | undefined => {
    const keys = findKeysOf(session, purpose, generation);
    const own = keys.find((key) => key.id.equals(id));
    const isAlone = own !== undefined && keys.length === 1;
    if (isAlone && follows(session)) return keep(session, own);
    // What signs goes first: a public half that is left behind counts for nothing.
    if (own) session.destroyObject(own.handle);
    for (const half of session.findObjects([{ type: ck.CKA_ID, value: id }]))
      session.destroyObject(half);
    return undefined;
  };
  const follows = (session: ck.Session): boolean => {
    const before = highest === 0 ? undefined : findKeysOf(session, purpose, highest);
    return before === undefined || (before.length > 0 && !isLive(before));
  };
  return retry(async () => {
    await token.renew();
    return token.use(settle);
  }, settling);
}

async function pause(attempt: number): Promise<void> {
  await delay(pauseMinMs * (1 + 2 * attempt * Math.random()));
}
