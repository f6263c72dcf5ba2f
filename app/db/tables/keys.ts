import { defineEntity, p } from '@mikro-orm/core';
import { timestamp } from '../columns/columns.ts';
import { ownedByService } from '../columns/policies.ts';

/** State of a signing key. Only an ACTIVE key signs; at most one key per purpose is ACTIVE. */
export type KeyState = 'CREATED' | 'ACTIVE' | 'RETIRED';

/** The registry of all public keys of the HSM, kept for as long as audit proofs must verify. */
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
        "(state = 'RETIRED') = (retired_at is not null) " +
        "and (state <> 'ACTIVE' or activated_at is not null)",
    },
  ],
  properties: {
    keyId: p.text().primary(),
    purpose: p.text().$type<'audit' | 'token'>(),
    algorithm: p.text(),
    /** SubjectPublicKeyInfo DER in base64. */
    publicKey: p.text(),
    generation: p.integer(),
    state: p.text().$type<KeyState>().default('CREATED'),
    registeredAt: timestamp().defaultRaw('now()'),
    activatedAt: timestamp().nullable(),
    retiredAt: timestamp().nullable(),
    /** Audit entry that records the key, signed by the audit key that was active then. */
    recordId: p.uuid().nullable(),
  },
});
