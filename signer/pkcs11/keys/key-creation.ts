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
/** Long enough for a concurrent creator to have destroyed its own key as well. */
const pauseMinMs = 150;

/** Retries the decision to keep or destroy a new key, in case the token is away for a moment. */
const settling = {
  attempts: 8,
  pauseMs: 200,
  mayPass: (error: unknown) =>
    error instanceof SignerUnavailable || (error instanceof Pkcs11Error && error.mayPass),
};

/** A token in which keys can be created. */
export interface Workplace {
  /** Runs `work` on a read-write session. */
  use<T>(work: (session: ck.Session) => Promise<T> | T): Promise<T>;
  /**
   * Reinitialises the library. A SoftHSM instance that changed the token itself may otherwise miss
   * what other processes had changed just before.
   */
  renew(): Promise<void>;
}

/**
 * Creates the next generation of a purpose, above both the highest in the token and `after`. Safe
 * while other processes create keys in the same token, or die doing so: two keys share a label only
 * where both creators were killed, and then the next generation is used. Throws SignerUnavailable
 * `busy` when every attempt collided with another creator.
 */
export async function createNextKey(
  token: Workplace,
  { purpose, after, rsaBits }: NextKeyOptions,
): Promise<SigningKey> {
  const isLive = watchContests(() => performance.now());
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const made = await token.use((session) =>
      makeKey(session, { purpose, highest: highestOf(session, purpose), after, rsaBits }),
    );
    const key = await keepUnlessShared(token, made, { isLive, keep: loadSigningKey });
    if (key !== undefined) return key;
    await pause(attempt);
  }
  throw new SignerUnavailable('busy', `others created ${purpose} keys at every attempt: try again`);
}

/** Creates the first key of a purpose, or resolves with false when the token holds one. */
export async function createFirstKey(
  token: Workplace,
  { purpose, rsaBits }: { readonly purpose: KeyPurpose; readonly rsaBits: number },
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const made = await token.use(async (session) =>
      highestOf(session, purpose) === 0
        ? makeKey(session, { purpose, highest: 0, after: 0, rsaBits })
        : undefined,
    );
    if (made === undefined) return false;
    const kept = await keepUnlessShared(token, made, { isLive: () => false, keep: () => true });
    if (kept === true) return true;
    await pause(attempt);
  }
}

interface NextKeyOptions {
  readonly purpose: SigningPurpose;
  /** Highest generation that ever existed; the token may have lost it. */
  readonly after: number;
  readonly rsaBits: number;
}

/** A key that was created and is not yet known to be the only one of its label. */
interface MadeKey<P extends KeyPurpose> {
  readonly purpose: P;
  /** Highest generation in the token before the key was created, or 0. */
  readonly highest: number;
  readonly generation: number;
  /** The CKA_ID, which no other key has. */
  readonly id: Buffer;
}

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
  }: {
    readonly purpose: P;
    readonly highest: number;
    readonly after: number;
    readonly rsaBits: number;
  },
): Promise<MadeKey<P>> {
  const generation = Math.max(highest, after) + 1;
  const handle = await generateKey[purpose](session, { generation, rsaBits });
  const [id] = session.readAttributes(handle, [ck.CKA_ID]);
  return { purpose, highest, generation, id };
}

/**
 * Keeps the new key and resolves with the result of `keep`, or destroys the key and resolves with
 * undefined if another key has its label, or the highest generation before it is missing or under
 * contest. The later of two concurrent creators sees the key of the earlier, so both never keep
 * theirs.
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
    // The private half goes first, because a public half left behind is ignored everywhere.
    if (own !== undefined) session.destroyObject(own.handle);
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
