import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../errors/app-error.ts';
import type { Tx } from '../db/database.ts';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import { createKeyChange, type KeyChangeOptions, type LockedKeys } from './key-change.ts';
import { activated, compromised } from './rows/key-events.ts';
import { instantOf, setActive, setCompromised, type KeyRow } from './rows/key-rows.ts';

type Request = ServiceRequest<InternalCaller>;

interface Compromise {
  /** The instant since which somebody else may have the key. */
  readonly since: Date;
  /** The id of the key that becomes active if the compromised key is active. */
  readonly successor: string | undefined;
}

interface KeyCompromiseOptions extends KeyChangeOptions {
  /** Lets the active audit key sign a high-water mark, and returns the id of that key. */
  readonly writeMark: () => Promise<string>;
}

export type KeyCompromise = ReturnType<typeof createKeyCompromise>;

/** Creates the service that records that somebody else may have a signing key. */
export function createKeyCompromise({ writeMark, ...options }: KeyCompromiseOptions) {
  const { load, listHeld, change } = createKeyChange(options);
  return {
    /**
     * Makes a key COMPROMISED since an instant, for ever, even while the audit backlog is full. If
     * the key is active, `successor` becomes active at the same moment, without waiting until it
     * was published: another key thus signs the entry. Does nothing if the key is compromised since
     * this instant already; an earlier instant replaces it. Throws not_found, validation_failed if
     * `since` is in the future, key_compromised if the key is compromised since an earlier instant,
     * successor_required, successor_not_ready, or SignerUnavailable.
     */
    async compromise(
      request: Request,
      keyId: string,
      { since, successor }: Compromise,
    ): Promise<void> {
      const known = await load(keyId);
      const held = await listHeld();
      await change(request, known, async (tx, keys) => {
        const { key, active, clock } = keys;
        const at = instantOf(clock, active);
        if (since > at) throw inFuture();
        const earlier = key.compromised_since;
        if (earlier !== null && earlier < since) throw new AppError('key_compromised');
        if (earlier?.getTime() === since.getTime()) return [];
        const next = key.state === 'ACTIVE' ? findSuccessor(keys, successor, held) : undefined;
        const entryId = uuidv7();
        await setCompromised(tx, key, { since, at, recordId: entryId });
        const isLost = !held.has(keyId);
        const details = { since, successor: next?.key_id ?? null, isLost, entryId };
        return [
          compromised(request, key, at, details),
          ...(next === undefined ? [] : await replace(tx, request, { key, next, at })),
        ];
      });
      // Marks of the compromised key count no longer. If this one fails, the next one is written
      // within seconds.
      if (known.purpose === 'audit') await writeMark().catch(() => undefined);
    },
  };
}

/** Activates the successor of a compromised key. */
async function replace(
  tx: Tx,
  request: Request,
  { key, next, at }: { readonly key: KeyRow; readonly next: KeyRow; readonly at: Date },
): Promise<RequestEvent[]> {
  await setActive(tx, next, at);
  const circumstance = { predecessor: key, predecessorCompromised: true };
  return [activated(request, next, at, circumstance)];
}

function findSuccessor(
  { all }: LockedKeys,
  successor: string | undefined,
  held: ReadonlySet<string>,
): KeyRow {
  if (successor === undefined) throw new AppError('successor_required');
  const next = all.find(({ key_id: keyId }) => keyId === successor);
  if (next?.state !== 'CREATED' || !held.has(successor)) throw new AppError('successor_not_ready');
  return next;
}

function inFuture(): AppError {
  const details = [{ path: 'since', message: 'must not be in the future of the signer’s clock' }];
  return new AppError('validation_failed', { details });
}
