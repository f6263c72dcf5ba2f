import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { RegisteredKey } from '../proof/registered-key.ts';
import type { Act } from '../audit-trail/act.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import type { KeyRegistry } from './registry.ts';
import { lockKeys, type KeyRow } from './rows/key-rows.ts';
import { readSignerClock, type SignerClock } from './rows/signer-clock.ts';

/** The keys of a purpose while they are locked. */
export interface LockedKeys {
  /** The key to change. */
  readonly key: KeyRow;
  readonly active: KeyRow | undefined;
  /** Every key of the purpose, oldest generation first. */
  readonly all: readonly KeyRow[];
  /** The clock of the signer, which dates seals as well. */
  readonly clock: SignerClock;
}

export interface KeyChangeOptions {
  readonly signer: SignerClient;
  readonly act: Act;
  readonly registry: KeyRegistry;
}

export type KeyChange = ReturnType<typeof createKeyChange>;

/** Creates the functions with which services change the state of signing keys. */
export function createKeyChange({ signer, act, registry }: KeyChangeOptions) {
  return {
    /** Returns a key as the registry has it now. Throws not_found. */
    async load(keyId: string): Promise<RegisteredKey> {
      await registry.refresh();
      const key = await registry.find(keyId);
      if (key === undefined) throw new AppError('not_found');
      return key;
    },

    /** Lists the ids of the keys that the token holds. Throws SignerUnavailable. */
    async listHeld(): Promise<ReadonlySet<string>> {
      return new Set((await signer.listKeys()).map(({ keyId }) => keyId));
    },

    /**
     * Runs `work` on a key while all keys of its purpose are locked, so that no seal of these keys
     * is stored meanwhile. It does not check the backlog: callers MUST, unless they may act with a
     * full one. Throws SignerUnavailable.
     */
    async change(
      request: ServiceRequest<InternalCaller>,
      { keyId, purpose }: RegisteredKey,
      work: (tx: Tx, keys: LockedKeys) => Promise<readonly RequestEvent[]>,
    ): Promise<void> {
      const clock = await readSignerClock(signer);
      await act.asService(
        request,
        async (tx) => {
          const all = await lockKeys(tx, purpose);
          const key = all.find(({ key_id }) => key_id === keyId);
          if (key === undefined) throw new AppError('not_found');
          const active = all.find(({ state }) => state === 'ACTIVE');
          return { answer: undefined, events: await work(tx, { key, active, all, clock }) };
        },
        { evenWithFullBacklog: true },
      );
      await registry.refresh();
    },
  };
}
