import type { SignerClient } from '../../signer/protocol/client.ts';
import type { SigningPurpose } from '../../signer/protocol/protocol.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database } from '../db/database.ts';
import { within } from '../async/within.ts';
import { toRegisteredKey, type RegisteredKey } from '../proof/registered-key.ts';
import { registerKeys, type MadeKey } from './registration.ts';

/**
 * Every key that ever signed, so that old proofs verify for ever, with the HSM or without. Keys that
 * are known are told as they were last read where the database gives no answer for a moment.
 */
export interface KeyRegistry {
  /** Undefined for a key the vault never had. */
  find(keyId: string): Promise<RegisteredKey | undefined>;
  /** Oldest generation first. */
  list(): Promise<readonly RegisteredKey[]>;
  /**
   * The key that signs, read at most `staleMs` ago if the database answers; until the first is
   * registered, throws as sync does. What it signs counts only if it is still active when that is stored.
   */
  active(purpose: SigningPurpose): Promise<RegisteredKey>;
  /** Reads the registry again: a key was exchanged. */
  refresh(): Promise<void>;
  /**
   * Takes over the signer's keys, of which `made` was asked for. Rejects while the signer or its
   * token is away.
   */
  sync(made?: MadeKey): Promise<void>;
}

const coolDownMs = 1_000;
const staleMs = 2_000;
/** A read that takes longer is overtaken by another: its connection may be lost without a word. */
const overtakeMs = 1_000;
/** How long who asks for known keys waits for newer ones. */
const patienceMs = 2_000;

interface Reading {
  readonly done: Promise<void>;
  /** Resolves with it, or once it has taken `patienceMs`. */
  readonly orTooLong: Promise<void>;
}

interface RegistryOptions {
  readonly db: Database;
  readonly signer: SignerClient;
  readonly audit: AuditTrail;
  readonly clock: Clock;
}

export function createKeyRegistry({ db, signer, audit, clock }: RegistryOptions): KeyRegistry {
  let keys = new Map<string, RegisteredKey>();
  let loadedAt = 0;
  let reading: Reading | undefined;
  let begun = 0;
  let newest = 0;

  async function load(): Promise<void> {
    begun += 1;
    const turn = begun;
    const rows = await db.asService((tx) =>
      tx.selectFrom('signing_keys').selectAll().orderBy('generation').orderBy('purpose').execute(),
    );
    // One that began earlier may not know what this one read.
    if (turn < newest) return;
    newest = turn;
    keys = new Map(rows.map((row) => [row.key_id, toRegisteredKey(row, keys.get(row.key_id))]));
    loadedAt = clock().getTime();
  }

  /** Two reads at most, on a connection each. */
  async function loadOnceOrTwice(): Promise<void> {
    let isOver = false;
    const first = load().finally(() => {
      isOver = true;
    });
    await within(overtakeMs, first);
    if (!isOver) await Promise.race([first, load().catch(() => first)]);
  }

  function read(): Reading {
    const done = loadOnceOrTwice().finally(() => {
      reading = undefined;
    });
    const orTooLong = within(patienceMs, done);
    // Nobody need wait for it.
    orTooLong.catch(() => undefined);
    return { done, orTooLong };
  }

  /** Another replica may have changed it; a stranger's key id must not cost a query each. */
  async function loadIfOlderThan(ms: number, isKnown: boolean): Promise<void> {
    const age = clock().getTime() - loadedAt;
    // Less than none where the clock was set back.
    if (age >= 0 && age <= ms) return;
    reading ??= read();
    await (isKnown ? reading.orTooLong : reading.done);
  }

  function findActive(purpose: SigningPurpose): RegisteredKey | undefined {
    return [...keys.values()].find((key) => key.purpose === purpose && key.state === 'ACTIVE');
  }

  async function sync(made?: MadeKey): Promise<void> {
    const listed = await signer.listKeys();
    await db.asService((tx) => registerKeys(tx, audit, listed, made));
    await load();
  }

  return {
    async find(keyId) {
      if (!keys.has(keyId)) await loadIfOlderThan(coolDownMs, false);
      return keys.get(keyId);
    },
    async list() {
      await loadIfOlderThan(coolDownMs, keys.size > 0);
      return [...keys.values()];
    },
    async active(purpose) {
      await loadIfOlderThan(staleMs, findActive(purpose) !== undefined);
      if (findActive(purpose) === undefined) await sync();
      const key = findActive(purpose);
      if (key === undefined) throw new Error(`the token holds no ${purpose} key`);
      return key;
    },
    refresh: load,
    sync,
  };
}
