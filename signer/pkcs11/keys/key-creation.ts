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
/**
 * Minimum milliseconds between two attempts, long enough for a concurrent creator to destroy its
 * own key as well.
 */
const pauseMinMs = 150;

/**
 * Milliseconds for which a key must be alone with its label before it is found: the signer that
 * made it may have seen it share the label, and destroys it a moment later.
 */
const settledMs = 1_000;

/**
 * Options for retrying the decision to keep or destroy a new key, in case the token is unavailable
 * for a moment.
 */
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
   * Reinitialises the PKCS#11 library. Otherwise, a SoftHSM instance that has changed the token may
   * miss changes that other processes made just before.
   */
  renew(): Promise<void>;
}

/**
 * Creates the next generation of a signing key, with a number above both `after` and the highest
 * generation in the token. Other processes may create keys in the same token concurrently, or be
 * killed while doing so: two keys keep the same label only if both creators were killed, and then
 * the next generation is used. Throws SignerUnavailable `busy` if every attempt collided with
 * another creator.
 */
export function createNextKey(
  token: Workplace,
  { purpose, after, rsaBits }: NextKeyOptions,
): Promise<SigningKey> {
  return createNext(token, { purpose, after, rsaBits }, loadSigningKey);
}

/**
 * Creates a signing key of exactly this generation as `createNextKey` does, or finds, within about
 * two seconds, the one that the token holds, so that a request may be repeated. Resolves with
 * undefined if the generation is neither in the token nor the next one, or if two keys keep its
 * label.
 */
export function createOrFindKey(
  token: Workplace,
  { generation, ...request }: NextKeyOptions & { readonly generation: number },
): Promise<SigningKey | undefined> {
  let alone: { readonly id: string; readonly since: number } | undefined;
  const isSettled = (key: StoredKey<SigningPurpose>): boolean => {
    const id = key.id.toString('hex');
    if (alone?.id !== id) alone = { id, since: performance.now() };
    return performance.now() - alone.since >= settledMs;
  };
  return createNext(token, request, loadSigningKey, (session, isLive) => {
    const keys = findKeysOf(session, request.purpose, generation);
    if (isLive(keys)) return 'contested';
    const [key, ...others] = keys;
    if (key !== undefined && !key.imported && others.length === 0)
      return isSettled(key) ? { found: loadSigningKey(session, key) } : 'contested';
    const next = Math.max(highestOf(session, request.purpose), request.after) + 1;
    return generation === next ? undefined : { found: undefined };
  });
}

/** Creates the next key `encryption` as `createNextKey` does. Resolves with its generation. */
export function createNextEncryptionKey(token: Workplace, after: number): Promise<number> {
  const request = { purpose: 'encryption', after, rsaBits: 0 } as const;
  return createNext(token, request, (_session, { generation }) => generation);
}

/**
 * Says what an attempt to create a key begins with: the key need not be made any more, other
 * signers may have yet to decide which of their keys with its label stays, or the key must be made.
 */
type Settled<F> = { readonly found: F } | 'contested' | undefined;

/** @param settle Looks at the token before each attempt. */
async function createNext<P extends KeyPurpose, T, F = never>(
  token: Workplace,
  { purpose, after, rsaBits }: NextKeyOptions<P>,
  keep: (session: ck.Session, key: StoredKey<P>) => T,
  settle: (session: ck.Session, isLive: ContestWatch) => Settled<F> = () => undefined,
): Promise<T | F> {
  const isLive = watchContests(() => performance.now());
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const made = await token.use(
      async (session) =>
        settle(session, isLive) ??
        makeKey(session, { purpose, highest: highestOf(session, purpose), after, rsaBits }),
    );
    if (made === 'contested') {
      await token.renew();
    } else {
      if ('found' in made) return made.found;
      const key = await keepUnlessShared(token, made, { isLive, keep });
      if (key !== undefined) return key;
    }
    await pause(attempt);
  }
  throw new SignerUnavailable(
    'busy',
    `other signers created ${purpose} keys concurrently: try again`,
  );
}

/**
 * Creates the first key of a purpose, with the generation after `after`, and resolves with true.
 * Resolves with false if the token already holds a key of the purpose.
 */
export async function createFirstKey(
  token: Workplace,
  { purpose, after, rsaBits }: NextKeyOptions<KeyPurpose>,
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const made = await token.use(async (session) =>
      highestOf(session, purpose) === 0
        ? makeKey(session, { purpose, highest: 0, after, rsaBits })
        : undefined,
    );
    if (made === undefined) return false;
    const kept = await keepUnlessShared(token, made, { isLive: () => false, keep: () => true });
    if (kept === true) return true;
    await pause(attempt);
  }
}

interface NextKeyOptions<P extends KeyPurpose = SigningPurpose> {
  readonly purpose: P;
  /** Highest generation that ever existed, even if the token has lost it. */
  readonly after: number;
  readonly rsaBits: number;
}

/** A new key of which it is not yet known whether another key has the same label. */
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
 * Decides whether a new key is kept. Destroys it and resolves with undefined if another key has the
 * same label, or if the previous highest generation is missing or still contested. Otherwise
 * resolves with the result of `keep`. Of two concurrent creators, the later one sees the key of the
 * earlier one, so they never both keep their keys.
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
    // The private half is destroyed first, because a public half without a private half is ignored
    // everywhere.
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
