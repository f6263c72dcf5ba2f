import type { SignerClient } from '../../signer/protocol/client.ts';
import { MacLabel } from '../../signer/protocol/protocol.ts';
import { AppError } from '../errors/app-error.ts';
import { fingerprintOf } from '../proof/registered-key.ts';
import type { KeyRegistry } from './registry.ts';
import type { Log } from '../telemetry/log.ts';
import { sleep } from '../async/wake-signal.ts';

/** Keys derived in the HSM, one a purpose, fetched once and kept in memory. */
export interface LabelledKeys {
  /** 32 bytes. Throws signer_unavailable before the first fetch succeeded. */
  get(label: MacLabel): Buffer;
  isReady(): boolean;
}

const retryMs = 1_000;
const labels = MacLabel.options;

interface FetchOptions {
  readonly signer: SignerClient;
  /** Takes over the signer's public keys at the same time. */
  readonly registry: KeyRegistry;
  readonly log: Log;
  readonly stop: AbortSignal;
}

/** Starts fetching, again and again until the signer answers or `stop` aborts. */
export function fetchLabelledKeys({ signer, registry, log, stop }: FetchOptions): LabelledKeys {
  const keys = new Map<MacLabel, Buffer>();

  async function fetchAll(): Promise<void> {
    while (!stop.aborted && keys.size < labels.length) {
      try {
        await registry.sync();
        for (const label of labels) keys.set(label, await signer.mac(label));
        log.info({ keys: await describeActive(registry) }, 'the keys that sign');
      } catch (error) {
        log.warn({ err: error }, 'the labelled keys wait for the signer');
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

/** What an operator compares with the fingerprints that were published. */
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
