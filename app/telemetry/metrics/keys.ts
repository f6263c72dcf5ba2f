import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { SigningPurpose } from '../../../signer/protocol/protocol.ts';
import { keyStates } from '../../db/tables/keys.ts';
import type { KeyAges } from '../../signing-keys/rows/key-ages.ts';

/** The facts about the keys that the database knows. */
interface KeyReading {
  readonly signing: KeyAges;
  /** Seconds since the newest key of encryption came into use; undefined if there is none. */
  readonly encryptionAgeSeconds: number | undefined;
}

/** Creates the metrics of the keys, which are read from the database. */
export function createKeyMetrics(meter: Meter) {
  const purpose = { values: SigningPurpose.options } as const;
  const keys = meter.gauge({
    name: 'probatio_signing_keys',
    help: 'Signing keys in the registry',
    labels: { purpose, state: { values: keyStates } },
  });
  const age = meter.gauge({
    name: 'probatio_signing_key_age_seconds',
    help: 'How long the active signing key has been active',
    labels: { purpose },
  });
  const encryptionAge = meter.gauge({
    name: 'probatio_encryption_key_age_seconds',
    help: 'How long the newest key of encryption has been in use',
    labels: {},
  });
  return {
    clear(): void {
      for (const each of [keys, age, encryptionAge]) each.clear();
    },
    set({ signing, encryptionAgeSeconds }: KeyReading): void {
      keys.setAll(signing.counts.map(({ purpose, state, count }) => [{ purpose, state }, count]));
      age.setAll(signing.active.map(({ purpose, ageSeconds }) => [{ purpose }, ageSeconds]));
      encryptionAge.setAll(encryptionAgeSeconds === undefined ? [] : [[{}, encryptionAgeSeconds]]);
    },
  };
}
