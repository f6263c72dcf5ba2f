import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../columns/columns.ts';
import { ownedByUser } from '../columns/policies.ts';

type EnvelopeKind = 'MASTER' | 'RECOVERY' | 'DEVICE';

/**
 * A user's master key, wrapped under a key that only the user has (AES-256-KW, 40 bytes, base64).
 */
export const KeyEnvelope = defineEntity({
  name: 'KeyEnvelope',
  tableName: 'key_envelopes',
  rowLevelSecurity: 'force',
  policies: ownedByUser('key_envelopes'),
  indexes: [
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
    encryptedEnvelope: p.text(),
    version: p.integer().default(1),
    /**
     * Earlier master keys, encrypted under the current master key, in base64. Only the MASTER
     * envelope has a keyring, once the master key was changed.
     */
    keyring: p.text().nullable(),
    createdAt: createdAt(),
    replacedAt: timestamp().nullable(),
  },
});
