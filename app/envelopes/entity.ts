import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner } from '../db/columns.ts';
import { ownedByUser } from '../db/policies.ts';

/** A user's master key wrapped under a key that only the user has (AES-256-KW, 40 bytes, base64). */
export const KeyEnvelope = defineEntity({
  name: 'KeyEnvelope',
  tableName: 'key_envelopes',
  rowLevelSecurity: 'force',
  policies: ownedByUser('key_envelopes'),
  uniques: [{ name: 'key_envelopes_kind', properties: ['userId', 'kind'] }],
  checks: [{ name: 'key_envelopes_kind_known', expression: "kind in ('MASTER')" }],
  properties: {
    id: p.uuid().primary(),
    ...owner(),
    kind: p.text().$type<'MASTER'>(),
    encryptedEnvelope: p.text(),
    version: p.integer().default(1),
    /** Earlier master keys under the present one, base64; null until a rekey. */
    keyring: p.text().nullable(),
    createdAt: createdAt(),
  },
});
