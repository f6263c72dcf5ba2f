import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../columns/columns.ts';
import { ownedByService, ownedByUser } from '../columns/policies.ts';
import { refuses } from '../columns/triggers.ts';

/**
 * A login session with its refresh tokens (docs/adr/0032). Its id is the `sid` of its access
 * tokens. No revocation is undone. The app login may only revoke sessions and bind them to devices,
 * and does not read the hashes.
 */
export const LoginSession = defineEntity({
  name: 'LoginSession',
  tableName: 'login_sessions',
  rowLevelSecurity: 'force',
  policies: ownedByUser('login_sessions'),
  triggers: [
    refuses('login_sessions', {
      name: 'revoked',
      event: 'update',
      when:
        '(row(new.id, new.user_id, new.tenant_id) is distinct from ' +
        'row(old.id, old.user_id, old.tenant_id) ' +
        'or old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)',
    }),
  ],
  indexes: [
    { name: 'login_sessions_user', properties: ['userId', 'id'] },
    {
      name: 'login_sessions_revoked',
      expression:
        'create index login_sessions_revoked on login_sessions (revoked_at) ' +
        'where revoked_at is not null',
    },
    { name: 'login_sessions_expiry', properties: ['expiresAt'] },
  ],
  checks: [
    {
      name: 'login_sessions_refresh',
      expression: '(refresh_generation > 0) = (refresh_hash is not null)',
    },
    {
      name: 'login_sessions_previous',
      expression: '(previous_hash is null) = (previous_used_at is null)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    ...owner(),
    /** Null until the session is bound to a device. */
    deviceId: p.uuid().nullable(),
    createdAt: createdAt(),
    lastUsedAt: timestamp(),
    /** When the newest refresh token of the session expires. */
    expiresAt: timestamp(),
    revokedAt: timestamp().nullable(),
    /** The number of the good refresh token, from 1 on; 0 if the session never had one. */
    refreshGeneration: p.integer().default(0),
    /** The SHA-256 of the good refresh token. */
    refreshHash: p.blob().$type<Buffer>().nullable(),
    /** The SHA-256 of the token for which the good one was issued. */
    previousHash: p.blob().$type<Buffer>().nullable(),
    /** When that token was used for the first time. */
    previousUsedAt: timestamp().nullable(),
  },
});

/** The internal id of a user of another issuer. Users are identified by issuer and subject. */
export const Identity = defineEntity({
  name: 'Identity',
  tableName: 'identities',
  rowLevelSecurity: 'force',
  policies: ownedByService('identities'),
  uniques: [{ name: 'identities_subject', properties: ['issuer', 'subject'] }],
  properties: {
    userId: p.uuid().primary(),
    issuer: p.text(),
    subject: p.text(),
    createdAt: createdAt(),
  },
});

/**
 * A network from which an account logged in. Failed logins from a known network are counted apart
 * from those of other networks.
 */
export const KnownAddress = defineEntity({
  name: 'KnownAddress',
  tableName: 'known_addresses',
  rowLevelSecurity: 'force',
  policies: ownedByService('known_addresses'),
  indexes: [{ name: 'known_addresses_age', properties: ['lastLoginAt'] }],
  properties: {
    accountId: p.uuid().primary(),
    /** HMAC-SHA-256 of the network in hex. */
    addressHash: p.text().primary(),
    lastLoginAt: timestamp(),
  },
});

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
  checks: [{ name: 'mfa_users_change', expression: "change in ('disable', 'regenerate')" }],
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
