import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, keyGeneration, owner, timestamp } from '../columns/columns.ts';
import { ownedByUser } from '../columns/policies.ts';
import { encrypts } from '../columns/triggers.ts';

type EnvelopeKind = 'MASTER' | 'RECOVERY' | 'DEVICE';

/**
 * A user's master key, wrapped under a key that only the user has (AES-256-KW, 40 bytes, base64).
 * MASTER envelopes, which are wrapped under the password, are encrypted at rest.
 */
export const KeyEnvelope = defineEntity({
  name: 'KeyEnvelope',
  tableName: 'key_envelopes',
  rowLevelSecurity: 'force',
  policies: ownedByUser('key_envelopes'),
  triggers: [encrypts('key_envelopes', "new.kind <> 'MASTER'")],
  indexes: [
    { name: 'key_envelopes_owner', properties: ['userId', 'tenantId'] },
    {
      name: 'key_envelopes_kind',
      expression:
        'create unique index key_envelopes_kind on key_envelopes (user_id, tenant_id, kind) ' +
        'where device_id is null',
    },
    {
      name: 'key_envelopes_device',
      expression:
        'create unique index key_envelopes_device ' +
        'on key_envelopes (user_id, tenant_id, device_id) ' +
        'where device_id is not null',
    },
    {
      name: 'key_envelopes_generation',
      expression:
        'create index key_envelopes_generation on key_envelopes (key_generation) ' +
        "where kind = 'MASTER'",
    },
  ],
  checks: [
    { name: 'key_envelopes_kind_known', expression: "kind in ('MASTER', 'RECOVERY', 'DEVICE')" },
    { name: 'key_envelopes_of_device', expression: "(kind = 'DEVICE') = (device_id is not null)" },
  ],
  properties: {
    id: p.uuid().primary(),
    ...owner(),
    kind: p.text().$type<EnvelopeKind>(),
    deviceId: p.uuid().nullable(),
    keyGeneration: keyGeneration(),
    encryptedEnvelope: p.text(),
    version: p.integer().default(1),
    /**
     * Earlier master keys, encrypted under the current master key, in base64. Only the MASTER
     * envelope has a keyring, once the master key was changed.
     */
    keyring: p.text().nullable(),
    /**
     * Whether the envelope was stored with a fresh proof of identity. Only such an envelope counts
     * as another way to the master key when a device is revoked.
     */
    proven: p.boolean().default(false),
    createdAt: createdAt(),
    replacedAt: timestamp().nullable(),
  },
});

export type ReplacedKind = 'MASTER' | 'RECOVERY' | 'SHARING';

/**
 * An envelope or sharing key that its user replaced, kept for 30 days, so that somebody who stole
 * an access token cannot destroy a user's keys by replacing them.
 */
export const ReplacedKey = defineEntity({
  name: 'ReplacedKey',
  tableName: 'replaced_keys',
  rowLevelSecurity: 'force',
  policies: ownedByUser('replaced_keys'),
  triggers: [encrypts('replaced_keys', "new.kind <> 'MASTER'")],
  indexes: [
    { name: 'replaced_keys_owner', properties: ['userId', 'tenantId', 'id'] },
    { name: 'replaced_keys_age', properties: ['replacedAt'] },
    {
      name: 'replaced_keys_generation',
      expression:
        'create index replaced_keys_generation on replaced_keys (key_generation) ' +
        "where kind = 'MASTER'",
    },
  ],
  checks: [
    { name: 'replaced_keys_kind', expression: "kind in ('MASTER', 'RECOVERY', 'SHARING')" },
    {
      name: 'replaced_keys_pair',
      expression:
        "(kind = 'SHARING') = (public_key is not null) " +
        "and (kind = 'SHARING') = (signing_key is not null) " +
        "and (wrapped_signing_key is null or kind = 'SHARING')",
    },
    {
      name: 'replaced_keys_credential',
      expression: "(salt is null) = (verifier is null) and (salt is null or kind = 'RECOVERY')",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    ...owner(),
    kind: p.text().$type<ReplacedKind>(),
    /** The version that the key had. */
    version: p.integer(),
    keyGeneration: keyGeneration(),
    /**
     * The master key or the private sharing key, wrapped by the client, in base64. Encrypted at
     * rest if `kind` is MASTER.
     */
    wrappedKey: p.text(),
    /** The public sharing key, in base64. */
    publicKey: p.text().nullable(),
    /** The signing key of that identity, and its private half as its client wrapped it. */
    signingKey: p.text().nullable(),
    wrappedSigningKey: p.text().nullable(),
    /** The SRP salt and verifier of the recovery words at that time, in hex. */
    salt: p.text().nullable(),
    verifier: p.text().nullable(),
    replacedAt: timestamp(),
  },
});
