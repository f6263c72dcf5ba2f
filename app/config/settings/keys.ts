import { z } from 'zod';
import type { Variables } from '../../../signer/protocol/process/environment.ts';
import { Flag, RsaPublicKeyPath } from '../definition/forms.ts';
import { secretSetting, setting } from '../definition/setting.ts';

/** Keys by generation, each of 32 bytes. */
const RecoveredKeys = z
  .string()
  .regex(
    /^[1-9]\d{0,5}:[A-Za-z0-9+/]{43}=(,[1-9]\d{0,5}:[A-Za-z0-9+/]{43}=)*$/,
    'is not of the form GENERATION:KEY with a key of 32 bytes in base64; ' +
      'set it to what the escrow holds',
  )
  .transform(
    (text) =>
      new Map(
        text.split(',').map((item) => {
          const [generation = '', key = ''] = item.split(':');
          return [Number(generation), Buffer.from(key, 'base64')] as const;
        }),
      ),
  );

/** Settings of the signing keys and of the keys of users. */
export const keySettings = {
  title: 'Keys',
  settings: {
    publishSeconds: setting(
      'KEYS_PUBLISH_SECONDS',
      // Verifiers cache the key set for 300 s, and a process reads a new key within 10 s.
      z.coerce.number().int().min(0).max(86_400).default(310),
      {
        unit: 'seconds',
        description:
          'How long a signing key must have been published before it may be activated ' +
          '([keys.md](keys.md)). The default covers verifiers that cache the key set for 300 ' +
          'seconds. With a shorter time they may refuse new tokens until they fetch the keys ' +
          'again.',
      },
    ),
    rawForm: setting('KEYS_RAW_FORM', z.enum(['allow', 'refuse']).default('allow'), {
      description:
        'Whether clients may send an unwrapped master key, which the service wraps. `allow` ' +
        'weakens security: such a key passes through the memory of the service, which cannot be ' +
        'wiped completely. Set `refuse` unless a client of yours needs that form; keys then ' +
        'arrive only wrapped by the client ([accounts.md](accounts.md)).',
    }),
    escrowPublicKeyFile: setting('KEYS_ESCROW_PUBLIC_KEY_FILE', RsaPublicKeyPath.optional(), {
      form: 'path of a PEM file with an RSA public key of at least 3072 bits',
      whenUnset: 'encryption keys have no escrow',
      description:
        'The public half of a key that you keep offline. Each encryption key that the HSM ' +
        'derives is also encrypted for it ([keys.md](keys.md#escrow)). Without it, the loss of ' +
        'the HSM is the loss of all passwords: users then log in with their recovery words.',
    }),
    recovered: secretSetting('KEYS_RECOVERED', RecoveredKeys.optional(), {
      form: '`GENERATION:KEY`, as the escrow holds it; several separated by commas',
      whenUnset: 'the HSM derives all encryption keys',
      description:
        'Encryption keys that the HSM lost, decrypted with your offline key. Remove the setting ' +
        'once `probatio maintenance reencrypt` has encrypted everything with a key of the new ' +
        'HSM. The keys are secrets.',
      rereads: 'at the start of the app',
    }),
    allowAnonymousInDevelopment: setting(
      'KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT',
      Flag.prefault('false'),
      {
        description:
          '`true` serves callers of the key envelope routes who have no token as one fixed user. ' +
          'It removes authentication from these routes, and the app refuses to start with it ' +
          'unless `NODE_ENV` is `development`.',
      },
    ),
  },
  findConflicts: findAnonymityConflicts,
};

/** Refuses a setting left over from development, which would let callers in without a token. */
function findAnonymityConflicts(variables: Variables): readonly string[] {
  const isAllowed = variables['KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT'] === 'true';
  const { NODE_ENV: environment = 'production' } = variables;
  return isAllowed && environment !== 'development'
    ? [
        'KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT: must not be true outside of development; ' +
          'remove it, or set it to false',
      ]
    : [];
}
