import { defineEntity, p } from '@mikro-orm/core';
import { timestamp } from '../columns/columns.ts';
import { ownedByService } from '../columns/policies.ts';

/** A key signs while it is ACTIVE; one of each purpose is. */
export type KeyState = 'CREATED' | 'ACTIVE' | 'RETIRED';

/** The registry of public keys: every key the HSM ever signed with, for as long as proofs live. */
export const SigningKey = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_keys',
  rowLevelSecurity: 'force',
  policies: ownedByService('signing_keys'),
  uniques: [{ name: 'signing_keys_generation', properties: ['purpose', 'generation'] }],
  indexes: [
    {
      name: 'signing_keys_active',
      expression:
        "create unique index signing_keys_active on signing_keys (purpose) where state = 'ACTIVE'",
    },
  ],
  checks: [
    { name: 'signing_keys_state', expression: "state in ('CREATED', 'ACTIVE', 'RETIRED')" },
    {
      name: 'signing_keys_validity',
      expression:
        "(state = 'RETIRED') = (retired_at is not null) and (state <> 'ACTIVE' or activated_at is not null)",
    },
  ],
  properties: {
    keyId: p.text().primary(),
    purpose: p.text().$type<'audit' | 'token'>(),
    algorithm: p.text(),
    /** SubjectPublicKeyInfo DER, base64. */
    publicKey: p.text(),
    generation: p.integer(),
    state: p.text().$type<KeyState>().default('CREATED'),
    registeredAt: timestamp().defaultRaw('now()'),
    activatedAt: timestamp().nullable(),
    retiredAt: timestamp().nullable(),
    /** The audit entry that tells of the key, signed by the audit key that was active then. */
    recordId: p.uuid().nullable(),
  },
});
