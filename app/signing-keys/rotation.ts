import type { SigningPurpose } from '../../signer/protocol/protocol.ts';
import { SignerRefused } from '../../signer/protocol/signer-error.ts';
import type { Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import { createKeyChange, type KeyChangeOptions, type LockedKeys } from './key-change.ts';
import { activated, retired } from './rows/key-events.ts';
import { instantOf, requirePublished, setActive, setRetired } from './rows/key-rows.ts';

type Request = ServiceRequest<InternalCaller>;

interface Activation {
  /**
   * States that the active key is lost and cannot sign the record of its successor. The successor
   * is then activated at once, and only its published fingerprint vouches for it.
   */
  readonly predecessorLost: boolean;
}

interface Creation {
  readonly purpose: SigningPurpose;
  /** The generation that the key must have; by default the next one. */
  readonly generation?: number | undefined;
}

interface KeyRotationOptions extends KeyChangeOptions {
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

export type KeyRotation = ReturnType<typeof createKeyRotation>;

/**
 * Creates the service that rotates signing keys: it creates the next key, which is published and
 * later activated in place of its predecessor.
 */
export function createKeyRotation(options: KeyRotationOptions) {
  const { signer, act, registry, publishSeconds, writeMark } = options;
  const { load, listHeld, change } = createKeyChange(options);

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

  return {
    /**
     * Creates the next generation of a purpose's key in the token and registers it. Resolves with
     * its key id. With `generation`, creates exactly that one or resolves with the key that is
     * there, so that a request whose response was lost may be repeated. Throws
     * key_generation_differs for a generation that is neither, SignerUnavailable, or
     * audit_backlog_full unless the token lost the active audit key.
     */
    async create(request: Request, { purpose, generation }: Creation): Promise<string> {
      const { caller, requestId } = request;
      await assertWritable(request);
      // Registers existing keys first, so that they are not recorded as created by this caller.
      await registry.sync();
      // The token may have lost the newest key, whose generation must not be used again.
      const keys = (await registry.list()).filter((key) => key.purpose === purpose);
      const known = keys.find((key) => key.generation === generation);
      if (known !== undefined) return known.keyId;
      const after = Math.max(0, ...keys.map((key) => key.generation));
      const { keyId } = await signer.createKey(purpose, { after, generation }).catch(toAppError);
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
        await change(request, known, async (tx, { key, active, clock }) => {
          if (key.state === 'ACTIVE') return [];
          if (key.state !== 'CREATED') throw new AppError('key_retired');
          if (!held.has(keyId)) throw new AppError('key_not_in_token');
          if (!predecessorLost) await requirePublished(tx, keyId, publishSeconds);
          else if (active === undefined || !isLost(active.key_id))
            throw new AppError('key_not_lost');
          // Another key was activated since the mark was signed, and has to sign one itself.
          isOutrun = markedBy !== undefined && markedBy !== active?.key_id;
          const isActiveLost = active !== undefined && isLost(active.key_id);
          return isOutrun
            ? []
            : exchange(tx, request, { key, active, clock }, { ...activation, isActiveLost });
        });
      } while (isOutrun);
    },

    /**
     * Retires a key that was never active. Does nothing if the key is retired or compromised.
     * Throws not_found, key_in_use, audit_backlog_full or SignerUnavailable.
     */
    async retire(request: Request, keyId: string): Promise<void> {
      act.assertWritable(request);
      const known = await load(keyId);
      const isLost = !(await listHeld()).has(keyId);
      await change(request, known, async (tx, { key, active, clock }) => {
        if (key.state === 'RETIRED' || key.state === 'COMPROMISED') return [];
        if (key.state === 'ACTIVE') throw new AppError('key_in_use');
        const at = instantOf(clock, active);
        await setRetired(tx, key, at);
        return [retired(request, key, at, { successor: null, isLost })];
      });
    },
  };
}

function toAppError(cause: unknown): never {
  const isRefused = cause instanceof SignerRefused && cause.code === 'wrong_generation';
  throw isRefused ? new AppError('key_generation_differs', { cause }) : cause;
}

/** Activates `key` in place of the active key, at one instant. */
async function exchange(
  tx: Tx,
  request: Request,
  { key, active, clock }: Omit<LockedKeys, 'all'>,
  { predecessorLost, isActiveLost }: Activation & { readonly isActiveLost: boolean },
): Promise<RequestEvent[]> {
  const at = instantOf(clock, active);
  if (active !== undefined) await setRetired(tx, active, at);
  await setActive(tx, key, at);
  const activation = activated(request, key, at, { predecessor: active, predecessorLost });
  if (active === undefined) return [activation];
  const retirement = { successor: key.key_id, isLost: isActiveLost };
  return [retired(request, active, at, retirement), activation];
}
