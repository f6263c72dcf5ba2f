import type { SignerClient } from '../../signer/protocol/client.ts';
import { MacLabel } from '../../signer/protocol/protocol.ts';
import { sleep } from '../async/wake-signal.ts';
import { AppError } from '../errors/app-error.ts';
import { fingerprintOf } from '../proof/registered-key.ts';
import type { Log } from '../telemetry/log.ts';
import type { KeyRegistry } from './registry.ts';

/** Keys that the HSM derives, one for each label, fetched once and kept in memory. */
export interface LabelledKeys {
  /** Returns the 32-byte key. Throws signer_unavailable before the first fetch succeeded. */
  get(label: MacLabel): Buffer;
  /** Returns whether every key was fetched. */
  isReady(): boolean;
}

const retryMs = 1_000;
const labels = MacLabel.options;

interface FetchOptions {
  readonly signer: SignerClient;
  /** The registry, to which the signer's public keys are added before the first fetch. */
  readonly registry: KeyRegistry;
  readonly log: Log;
  readonly stop: AbortSignal;
}

/** Starts fetching the keys, and retries until the signer responds or `stop` aborts. */
export function fetchLabelledKeys({ signer, registry, log, stop }: FetchOptions): LabelledKeys {
  const keys = new Map<MacLabel, Buffer>();
  let lastMessage = '';

  /** Logs a failure, unless the attempt before failed for the same reason. */
  function warn(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message === lastMessage) return;
    lastMessage = message;
    log.warn({ err: error }, 'the keys derived in the HSM could not be fetched; retrying');
  }

  async function fetchAll(): Promise<void> {
    while (!stop.aborted && keys.size < labels.length) {
      try {
        await registry.sync();
        for (const label of labels) keys.set(label, await signer.mac(label));
        log.info({ keys: await describeActive(registry) }, 'active signing keys');
      } catch (error) {
        warn(error);
        await sleep(retryMs, stop);
      }
    }
  }

  void fetchAll();
  return {
    get(label) {
      const key = keys.get(label);
      if (key === undefined) throw new AppError('signer_unavailable', { retryAfterSeconds: 2 });
      return key;
    },
    isReady: () => keys.size === labels.length,
  };
}

/**
 * Returns the active signing keys with their fingerprints, which an operator compares with the
 * published ones.
 */
async function describeActive(registry: KeyRegistry) {
  const keys = await registry.list();
  return keys
    .filter(({ state }) => state === 'ACTIVE')
    .map(({ purpose, keyId, publicKey }) => ({
      purpose,
      keyId,
      fingerprint: fingerprintOf(publicKey),
    }));
}
