import { defineEntity, p } from '@mikro-orm/core';
import { timestamp } from '../columns/columns.ts';
import { ownedByService } from '../columns/policies.ts';
import { refuses } from '../columns/triggers.ts';

/**
 * States of a signing key. Only an ACTIVE key signs; at most one key per purpose is ACTIVE.
 * Somebody else may have a COMPROMISED key.
 */
export const keyStates = ['CREATED', 'ACTIVE', 'RETIRED', 'COMPROMISED'] as const;
export type KeyState = (typeof keyStates)[number];

/**
 * The registry of all public keys of the HSM, kept for as long as audit proofs must verify. A key
 * that is retired or compromised stays so, and its instants stay, except that a compromise may turn
 * out to be older.
 */
export const SigningKey = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_keys',
  rowLevelSecurity: 'force',
  policies: ownedByService('signing_keys'),
  triggers: [
    refuses('signing_keys', {
      name: 'ended',
      event: 'update',
      when:
        "(old.state = 'RETIRED' and new.state in ('CREATED', 'ACTIVE') " +
        "or old.state = 'COMPROMISED' and (new.state <> 'COMPROMISED' " +
        'or new.compromised_since > old.compromised_since) ' +
        'or old.activated_at is not null and new.activated_at is distinct from old.activated_at ' +
        'or old.retired_at is not null and new.retired_at is distinct from old.retired_at)',
    }),
  ],
  uniques: [{ name: 'signing_keys_generation', properties: ['purpose', 'generation'] }],
  indexes: [
    {
      name: 'signing_keys_active',
      expression:
        "create unique index signing_keys_active on signing_keys (purpose) where state = 'ACTIVE'",
    },
  ],
  checks: [
    {
      name: 'signing_keys_state',
      expression: "state in ('CREATED', 'ACTIVE', 'RETIRED', 'COMPROMISED')",
    },
    {
      name: 'signing_keys_validity',
      expression:
        "(state in ('RETIRED', 'COMPROMISED')) = (retired_at is not null) " +
        "and (state <> 'ACTIVE' or activated_at is not null) " +
        "and (state = 'COMPROMISED') = (compromised_since is not null)",
    },
  ],
  properties: {
    keyId: p.text().primary(),
    purpose: p.text().$type<'audit' | 'token'>(),
    algorithm: p.text(),
    /** SubjectPublicKeyInfo DER in base64. */
    publicKey: p.text(),
    generation: p.integer(),
    /** Whether the HSM did not generate the key, or the key may have left it; never changes. */
    imported: p.boolean().default(false),
    state: p.text().$type<KeyState>().default('CREATED'),
    registeredAt: timestamp().defaultRaw('now()'),
    activatedAt: timestamp().nullable(),
    retiredAt: timestamp().nullable(),
    /** Audit entry that records the key, signed by the audit key that was active then. */
    recordId: p.uuid().nullable(),
    /** The instant since which somebody else may have the key. */
    compromisedSince: timestamp().nullable(),
    /** Audit entry that records the compromise, signed by another audit key. */
    compromiseId: p.uuid().nullable(),
  },
});

/**
 * A generation of the key from which the keys of encrypted rows are derived. The HSM derives the
 * key itself, which is stored nowhere but in its escrow.
 */
export const EncryptionKey = defineEntity({
  name: 'EncryptionKey',
  tableName: 'encryption_keys',
  rowLevelSecurity: 'force',
  policies: ownedByService('encryption_keys'),
  checks: [
    {
      name: 'encryption_keys_escrow',
      expression: '(escrow is null) = (escrow_key is null)',
    },
  ],
  properties: {
    generation: p.integer().primary().autoincrement(false),
    /** A MAC of the key, which tells it from the key of another token. */
    checkValue: p.text(),
    /** The key, encrypted for the operator's offline key, in base64. */
    escrow: p.text().nullable(),
    /** Fingerprint of the offline key: SHA-256 of its SPKI DER, in hex. */
    escrowKey: p.text().nullable(),
    /** From when on new values are encrypted with the key, since every process has it then. */
    usableAt: timestamp(),
    createdAt: timestamp().defaultRaw('now()'),
  },
});
