import type { SignerClient } from '../../signer/protocol/client.ts';
import type { SigningPurpose } from '../../signer/protocol/protocol.ts';
import type { Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { RegisteredKey } from '../proof/registered-key.ts';
import type { Act } from '../audit-trail/act.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import { byKeys } from './key-registration.ts';
import {
  lockKeys,
  readClock,
  requirePublished,
  setActive,
  setRetired,
  type KeyRow,
} from './key-rows.ts';
import type { KeyRegistry } from './registry.ts';

type Request = ServiceRequest<InternalCaller>;

interface Activation {
  /**
   * States that the active key is lost and cannot sign the record of its successor. The successor
   * is then activated at once, and only its published fingerprint vouches for it.
   */
  readonly predecessorLost: boolean;
}

interface KeyRotationOptions {
  readonly signer: SignerClient;
  readonly act: Act;
  readonly registry: KeyRegistry;
  /**
   * Seconds for which a key is published before it may be activated, since verifiers may use a
   * cached key set for that long.
   */
  readonly publishSeconds: number;
  /**
   * Writes a high-water mark that names all registered keys, and returns the id of the audit key
   * that signed it.
   */
  readonly writeMark: () => Promise<string>;
}

/** The keys of a purpose while they are locked. */
interface LockedKeys {
  /** The key to change. */
  readonly key: KeyRow;
  readonly active: KeyRow | undefined;
}

export type KeyRotation = ReturnType<typeof createKeyRotation>;

/**
 * Creates the service that rotates signing keys: it creates the next key, which is published and
 * later activated in place of its predecessor.
 */
export function createKeyRotation(options: KeyRotationOptions) {
  const { signer, act, registry, publishSeconds, writeMark } = options;

  async function load(keyId: string): Promise<RegisteredKey> {
    await registry.refresh();
    const key = await registry.find(keyId);
    if (key === undefined) throw new AppError('not_found');
    return key;
  }

  async function listHeld(): Promise<ReadonlySet<string>> {
    return new Set((await signer.listKeys()).map(({ keyId }) => keyId));
  }

  /**
   * Lets the active audit key sign a high-water mark if the token holds that key. Returns the id of
   * the key that signed it.
   */
  async function markByActive(held: ReadonlySet<string>): Promise<string | undefined> {
    const keys = await registry.list();
    const active = keys.find(({ purpose, state }) => purpose === 'audit' && state === 'ACTIVE');
    return active !== undefined && held.has(active.keyId) ? writeMark() : undefined;
  }

  /**
   * Throws audit_backlog_full if the audit backlog is full, unless the token lost the active audit
   * key: then only a rotation of that key lets the backlog drain.
   */
  async function assertWritable(request: Request): Promise<void> {
    try {
      act.assertWritable(request);
    } catch (error) {
      const keys = await registry.list();
      const active = keys.find(({ purpose, state }) => purpose === 'audit' && state === 'ACTIVE');
      const held = await listHeld().catch(() => undefined);
      if (active === undefined || held?.has(active.keyId) !== false) throw error;
    }
  }

  /**
   * Runs `work` on a key while all keys of its purpose are locked, so that no seal of these keys is
   * stored meanwhile.
   */
  async function change(
    request: Request,
    { keyId, purpose }: RegisteredKey,
    work: (tx: Tx, keys: LockedKeys) => Promise<readonly RequestEvent[]>,
  ): Promise<void> {
    await act.asService(
      request,
      async (tx) => {
        const keys = await lockKeys(tx, purpose);
        const key = keys.find(({ key_id }) => key_id === keyId);
        if (key === undefined) throw new AppError('not_found');
        const active = keys.find(({ state }) => state === 'ACTIVE');
        return { answer: undefined, events: await work(tx, { key, active }) };
      },
      // The callers of `change` have checked the backlog, some with the exception for a lost key.
      { evenWithFullBacklog: true },
    );
    await registry.refresh();
  }

  return {
    /**
     * Creates the next generation of a purpose's key in the token and registers it. Resolves with
     * its key id. Throws SignerUnavailable, or audit_backlog_full unless the token lost the active
     * audit key.
     */
    async create(request: Request, purpose: SigningPurpose): Promise<string> {
      const { caller, requestId } = request;
      await assertWritable(request);
      // Registers existing keys first, so that they are not recorded as created by this caller.
      await registry.sync();
      // The token may have lost the newest key, whose generation must not be used again.
      const generations = (await registry.list())
        .filter((key) => key.purpose === purpose)
        .map(({ generation }) => generation);
      const { keyId } = await signer.createKey(purpose, { after: Math.max(0, ...generations) });
      await registry.sync({ keyId, requestedBy: caller.internalKey, requestId });
      return keyId;
    },

    /**
     * Activates a key and retires its predecessor at the same instant. Does nothing if the key is
     * active. The predecessor of an audit key first signs a high-water mark that names the new key.
     * Throws not_found, key_retired, key_not_in_token, key_not_published, StorageError,
     * SignerUnavailable, key_not_lost if `predecessorLost` is stated but the token holds the
     * predecessor, or audit_backlog_full unless the token lost the active audit key.
     */
    async activate(request: Request, keyId: string, activation: Activation): Promise<void> {
      await assertWritable(request);
      const known = await load(keyId);
      // The registry is read before the token, so that a registered key that the token then lacks
      // is lost, and not just new.
      const registered = new Set((await registry.list()).map((key) => key.keyId));
      const held = await listHeld();
      const isLost = (id: string) => registered.has(id) && !held.has(id);
      const { predecessorLost } = activation;
      let isOutrun: boolean;
      do {
        isOutrun = false;
        // A state from before the activation, with a token that lacks the new key, cannot read the
        // marks of the new key: a mark of the old key, which names the new key, gives it away. A
        // lost key cannot sign one.
        const isWaiting = known.purpose === 'audit' && known.state === 'CREATED';
        const markedBy = isWaiting && held.has(keyId) ? await markByActive(held) : undefined;
        await change(request, known, async (tx, { key, active }) => {
          if (key.state === 'ACTIVE') return [];
          if (key.state === 'RETIRED') throw new AppError('key_retired');
          if (!held.has(keyId)) throw new AppError('key_not_in_token');
          if (!predecessorLost) await requirePublished(tx, keyId, publishSeconds);
          else if (active === undefined || !isLost(active.key_id))
            throw new AppError('key_not_lost');
          // Another key was activated since the mark was signed, and has to sign one itself.
          isOutrun = markedBy !== undefined && markedBy !== active?.key_id;
          return isOutrun ? [] : exchange(tx, request, { key, active }, activation);
        });
      } while (isOutrun);
    },

    /**
     * Retires a key that was never active. Does nothing if the key is retired already. Throws
     * not_found, key_in_use or audit_backlog_full.
     */
    async retire(request: Request, keyId: string): Promise<void> {
      act.assertWritable(request);
      await change(request, await load(keyId), async (tx, { key }) => {
        if (key.state === 'RETIRED') return [];
        if (key.state === 'ACTIVE') throw new AppError('key_in_use');
        const at = await readClock(tx);
        await setRetired(tx, key, at);
        return [retired(request, key, { at, successor: null })];
      });
    },
  };
}

/** Activates `key` in place of the active key, at one instant. */
async function exchange(
  tx: Tx,
  request: Request,
  { key, active }: LockedKeys,
  { predecessorLost }: Activation,
): Promise<RequestEvent[]> {
  const at = await readClock(tx);
  if (active !== undefined) await setRetired(tx, active, at);
  await setActive(tx, key, at);
  const activated: RequestEvent<'key.activated'> = {
    ...byKeys,
    action: 'key.activated',
    resource: { type: 'key', id: key.key_id },
    data: {
      requestedBy: request.caller.internalKey,
      purpose: key.purpose,
      at: at.toISOString(),
      predecessor: active?.key_id ?? null,
      ...(predecessorLost ? { predecessorLost } : {}),
    },
  };
  if (active === undefined) return [activated];
  const successor = { at, successor: key.key_id, isLost: predecessorLost };
  return [retired(request, active, successor), activated];
}

interface Retirement {
  readonly at: Date;
  /** The id of the key that takes its place; null for a key that was never active. */
  readonly successor: string | null;
  readonly isLost?: boolean;
}

function retired(
  { caller }: Request,
  { key_id: keyId, purpose }: KeyRow,
  { at, successor, isLost = false }: Retirement,
): RequestEvent<'key.retired'> {
  return {
    ...byKeys,
    action: 'key.retired',
    resource: { type: 'key', id: keyId },
    data: {
      requestedBy: caller.internalKey,
      purpose,
      at: at.toISOString(),
      successor,
      ...(isLost ? { lost: true } : {}),
    },
  };
}
