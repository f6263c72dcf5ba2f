import { defineEntity, p } from '@mikro-orm/core';
import { timestamp } from '../db/columns.ts';
import { ownedByService } from '../db/policies.ts';

/** The registry of public keys: every key the HSM ever signed with, for as long as proofs live. */
export const SigningKey = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_keys',
  rowLevelSecurity: 'force',
  policies: ownedByService('signing_keys'),
  properties: {
    keyId: p.text().primary(),
    purpose: p.text().$type<'audit' | 'token'>(),
    algorithm: p.text(),
    /** SubjectPublicKeyInfo DER, base64. */
    publicKey: p.text(),
    generation: p.integer(),
    registeredAt: timestamp().defaultRaw('now()'),
  },
});
