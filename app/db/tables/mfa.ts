import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../columns/columns.ts';
import { ownedByService } from '../columns/policies.ts';

/**
 * A change at the identity provider that was begun and has no audit entry yet. The provider tells
 * whether it took effect.
 */
export type MfaChange = 'disable' | 'regenerate';

/** A user as the identity provider that keeps the second factors knows them. */
export const MfaUser = defineEntity({
  name: 'MfaUser',
  tableName: 'mfa_users',
  rowLevelSecurity: 'force',
  policies: ownedByService('mfa_users'),
  checks: [
    {
      name: 'mfa_users_change',
      expression:
        "(change is null or change in ('disable', 'regenerate')) " +
        "and (change is not distinct from 'regenerate') = (codes_id is not null)",
    },
  ],
  indexes: [
    {
      name: 'mfa_users_unfinished',
      expression:
        'create index mfa_users_unfinished on mfa_users (user_id) where change is not null',
    },
  ],
  properties: {
    ...owner(),
    userId: p.uuid().primary(),
    /** The provider's id of the user; null until the vault has created a user of its own there. */
    subject: p.text().nullable(),
    /** Whether the vault creates the user at the provider, and removes it with the account. */
    isProvisioned: p.boolean(),
    change: p.text().$type<MfaChange>().nullable(),
    /** The id of the new recovery codes of a change `regenerate`. */
    codesId: p.uuid().nullable(),
    /** Fencing token of the last request to change the user's second factors. */
    token: p.bigint('number'),
    /** End of that request's lease, by Postgres's clock; null once the request has ended. */
    heldUntil: timestamp().nullable(),
    createdAt: createdAt(),
  },
});

/**
 * A set-up of MFA that waits for its first code. The secret is derived from the nonce and is stored
 * nowhere.
 */
export const MfaPending = defineEntity({
  name: 'MfaPending',
  tableName: 'mfa_pending',
  rowLevelSecurity: 'force',
  policies: ownedByService('mfa_pending'),
  indexes: [{ name: 'mfa_pending_expiry', properties: ['expiresAt'] }],
  properties: {
    userId: p.uuid().primary(),
    /** 32 random bytes in hex. */
    nonce: p.text(),
    /** The generation of the HSM's key from which the secret is derived. */
    keyGeneration: p.integer(),
    /** The id that the TOTP has at the provider once it is written there. */
    credentialId: p.uuid(),
    /** The time step (RFC 6238) of the last code that was accepted, which no code may repeat. */
    lastStep: p.bigint('number').nullable(),
    expiresAt: timestamp(),
    createdAt: createdAt(),
  },
});
