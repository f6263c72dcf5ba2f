import { createHttp } from '../../../client/http/http.ts';
import type { RetryPolicy } from '../../../client/http/retry.ts';
import { createSessionHttp } from '../../../client/sessions/session-http.ts';
import { openSync } from '../../../client/sync/sync-client.ts';
import type { Sync, SyncOptions } from '../../../client/sync/sync.ts';
import type { SyncStore } from '../../../client/sync/stores/store.ts';
import { noMemory } from '../../support/client/no-memory.ts';
import { createDevice } from '../../support/sync/devices.ts';
import type { TestVault } from '../../support/vault/vault.ts';
import { createFaultyNetwork, type FaultyNetwork, type WireWrite } from './network.ts';

const impatient: RetryPolicy = {
  attempts: 1,
  baseDelaySeconds: 0,
  maxDelaySeconds: 0,
  sleep: async () => {},
  random: () => 0,
};

/** Thrown in place of the work of a killed process, where nobody would see it. */
export class KilledError extends Error {
  override readonly name = 'KilledError';
}

export interface SimulatedDevice {
  readonly deviceId: string;
  readonly network: FaultyNetwork;
  /** The client of this life; each restart makes a new one. */
  readonly sync: Sync;
  /** Number of crashes so far. */
  readonly crashes: number;
  /** Whether the process was killed during a save, before or after it became durable. */
  readonly isDead: boolean;
  /** Kills the process wherever it is, and starts another with the contents of the store. */
  restart(): Promise<void>;
}

export interface SimulatedDeviceOptions {
  readonly vault: TestVault;
  readonly userId: string;
  readonly store: SyncStore;
  readonly random: () => number;
  /** Milliseconds by which this device's clock is ahead. */
  readonly skewMs: number;
  readonly record: (write: WireWrite) => void;
  readonly options: (deviceId: string) => Omit<SyncOptions, 'deviceId' | 'store' | 'now'>;
}

/** Starts a device with the real client on a store that may crash and a faulty network. */
export async function startDevice(settings: SimulatedDeviceOptions): Promise<SimulatedDevice> {
  const { vault, userId, store, random, skewMs, record } = settings;
  const { deviceId, api } = await createDevice(vault, { userId });
  const now = () => new Date(Date.now() + skewMs);
  const tokens = {
    current: async () => token,
    renew: async () => (token = await vault.tokens.access(api.caller)),
    end: () => {},
  };
  let token = api.token;
  let crashes = 0;
  let saving: Promise<void> = Promise.resolve();
  let life = await begin();

  async function begin() {
    const state = { isOver: false };
    const network = createFaultyNetwork({ deviceId, random, record, isAlive: () => !state.isOver });
    const http = createSessionHttp({
      http: createHttp({ baseUrl: vault.baseUrl, fetch: network.fetch, retry: impatient, now }),
      tokens,
    });
    const mayCrash = () => {
      if (network.isFaulty && random() < 0.01) state.isOver = true;
      if (state.isOver) throw new KilledError('the process was killed');
    };
    const crashing: SyncStore = {
      load: () => store.load(),
      async save(changes) {
        mayCrash();
        saving = store.save(changes);
        await saving;
        mayCrash();
      },
    };
    const options = settings.options(deviceId);
    const sync = await openSync({
      ...options,
      http,
      memory: noMemory,
      deviceId,
      store: crashing,
      now,
    });
    return { sync, network, state };
  }

  return {
    deviceId,
    get network() {
      return life.network;
    },
    get sync() {
      return life.sync;
    },
    get crashes() {
      return crashes;
    },
    get isDead() {
      return life.state.isOver;
    },
    async restart() {
      crashes += 1;
      life.state.isOver = true;
      // Waits for a save in progress: that a file write is atomic is tested elsewhere.
      await saving;
      life = await begin();
    },
  };
}
