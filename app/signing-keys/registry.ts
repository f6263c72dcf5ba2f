import type { SignerClient } from '../../signer/protocol/client.ts';
import type { SigningPurpose } from '../../signer/protocol/protocol.ts';
import type { Clock } from '../async/clock.ts';
import { within } from '../async/within.ts';
import type { Database } from '../db/database.ts';
import { keyColumns, toRegisteredKey, type RegisteredKey } from '../proof/registered-key.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import { registerKeys, type MadeKey } from './rows/key-registration.ts';
import { readSignerClock } from './rows/signer-clock.ts';

/**
 * All public signing keys that the HSM has or had, so that old audit proofs can be verified for
 * ever, even without the HSM. While the database does not respond, keys are returned as they were
 * last read.
 */
export interface KeyRegistry {
  /** Returns one key; undefined for a key that the vault never had. */
  find(keyId: string): Promise<RegisteredKey | undefined>;
  /** Lists every key, oldest generation first. */
  list(): Promise<readonly RegisteredKey[]>;
  /**
   * Returns the active key of a purpose, read at most 2 s ago if the database responds. Until the
   * purpose has a registered key, calls `sync` and throws its errors. A signature may be stored
   * only if its key is still active at that time.
   */
  active(purpose: SigningPurpose): Promise<RegisteredKey>;
  /** Reads the registry again at once, for example after a rotation of keys. */
  refresh(): Promise<void>;
  /**
   * Registers the keys of the signer that are not registered yet; `made` is the key among them that
   * a request created. Rejects while the signer or its token is unavailable.
   */
  sync(made?: MadeKey): Promise<void>;
}

const coolDownMs = 1_000;
const staleMs = 2_000;
/**
 * Time after which a second read starts beside the first, whose connection may be dead without an
 * error.
 */
const overtakeMs = 1_000;
/** How long a caller waits for a new read if the keys are known from an earlier read. */
const patienceMs = 2_000;

interface Reading {
  readonly done: Promise<void>;
  /** Settles as `done` does, and resolves after `patienceMs` at the latest. */
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
      tx
        .selectFrom('signing_keys')
        .select(keyColumns)
        .orderBy('generation')
        .orderBy('purpose')
        .execute(),
    );
    // Another read, which began later, has finished already, so these rows may be outdated.
    if (turn < newest) return;
    newest = turn;
    keys = new Map(rows.map((row) => [row.key_id, toRegisteredKey(row, keys.get(row.key_id))]));
    loadedAt = clock().getTime();
  }

  /** Reads on one connection, and on a second one if the first read takes too long. */
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
    // This promise may never be awaited: its rejection must not become an unhandled one.
    orTooLong.catch(() => undefined);
    return { done, orTooLong };
  }

  /**
   * Reads the registry again if the last read is older than `ms`, since another replica may have
   * changed the registry. Requests with unknown key ids thus do not cost a query each. If
   * `isKnown`, waits for the read for `patienceMs` at most.
   */
  async function loadIfOlderThan(ms: number, isKnown: boolean): Promise<void> {
    const age = clock().getTime() - loadedAt;
    // The age is negative if the clock was set back.
    if (age >= 0 && age <= ms) return;
    reading ??= read();
    await (isKnown ? reading.orTooLong : reading.done);
  }

  function findActive(purpose: SigningPurpose): RegisteredKey | undefined {
    return [...keys.values()].find((key) => key.purpose === purpose && key.state === 'ACTIVE');
  }

  async function sync(made?: MadeKey): Promise<void> {
    const listed = await signer.listKeys();
    const signerClock = await readSignerClock(signer);
    await db.asService((tx) => registerKeys(tx, audit, { listed, made, clock: signerClock }));
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
