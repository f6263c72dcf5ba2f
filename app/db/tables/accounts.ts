import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, keyGeneration, timestamp } from '../columns/columns.ts';
import { ownedByService, ownedByUser } from '../columns/policies.ts';
import { encrypts } from '../columns/triggers.ts';

type AccountStatus = 'PENDING_VALIDATION' | 'ACTIVE' | 'CLOSED';

/**
 * An account of a person, identified by e-mail address. An account can be used once one of its
 * registrations was validated. A closed account keeps its id, which sealed documents and audit
 * proofs name, but not the e-mail address.
 */
export const Account = defineEntity({
  name: 'Account',
  tableName: 'accounts',
  rowLevelSecurity: 'force',
  policies: ownedByService('accounts'),
  uniques: [{ name: 'accounts_email', properties: ['email'] }],
  indexes: [
    {
      name: 'accounts_unvalidated',
      expression:
        'create index accounts_unvalidated on accounts (created_at, id) ' +
        "where status = 'PENDING_VALIDATION'",
    },
  ],
  checks: [
    {
      name: 'accounts_status',
      expression: "status in ('PENDING_VALIDATION', 'ACTIVE', 'CLOSED')",
    },
    { name: 'accounts_closed', expression: "(status = 'CLOSED') = (email is null)" },
  ],
  properties: {
    id: p.uuid().primary(),
    tenantId: p.text(),
    email: p.text().nullable(),
    status: p.text().$type<AccountStatus>(),
    plan: p.text(),
    roles: p.array().columnType('text[]'),
    scopes: p.array().columnType('text[]'),
    createdAt: createdAt(),
    activatedAt: timestamp().nullable(),
    closedAt: timestamp().nullable(),
  },
});

/**
 * A sign-up with its own salt, verifier and token. An account may have several registrations until
 * one of them is validated.
 */
export const Registration = defineEntity({
  name: 'Registration',
  tableName: 'registrations',
  rowLevelSecurity: 'force',
  policies: ownedByService('registrations'),
  triggers: [encrypts('registrations', 'false')],
  uniques: [{ name: 'registrations_token', properties: ['tokenHash'] }],
  indexes: [
    { name: 'registrations_account', properties: ['account'] },
    { name: 'registrations_generation', properties: ['keyGeneration'] },
  ],
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account).mapToPk().deleteRule('cascade').updateRule('no action'),
    keyGeneration: keyGeneration(),
    salt: p.text(),
    verifier: p.text(),
    tokenHash: p.text(),
    expiresAt: timestamp(),
    createdAt: createdAt(),
  },
});

/** How an account logs in: with its password, or for `recovery` with the 24 recovery words. */
export type CredentialMethod = 'password' | 'recovery';

/**
 * SRP credentials of an account: the salt and the verifier v = g^x mod N, in hex. Those of the
 * password are encrypted. Those of the recovery words, which nobody can guess, are not: they serve
 * when the keys of encryption are lost.
 */
export const Credential = defineEntity({
  name: 'Credential',
  tableName: 'credentials',
  rowLevelSecurity: 'force',
  policies: ownedByService('credentials'),
  triggers: [encrypts('credentials', "new.method <> 'password'")],
  indexes: [
    {
      name: 'credentials_generation',
      expression:
        'create index credentials_generation on credentials (key_generation) ' +
        "where method = 'password'",
    },
  ],
  checks: [{ name: 'credentials_method', expression: "method in ('password', 'recovery')" }],
  properties: {
    account: () =>
      p.manyToOne(Account).mapToPk().primary().deleteRule('cascade').updateRule('no action'),
    method: p.text().$type<CredentialMethod>().primary().default('password'),
    keyGeneration: keyGeneration(),
    salt: p.text(),
    verifier: p.text(),
    createdAt: createdAt(),
  },
});

const count = () => p.bigint('number').defaultRaw('0');

/**
 * Counters of the rows and bytes that a user keeps in a tenant. Triggers of the counted tables
 * change them when a transaction commits (docs/adr/0016); only a repair writes them otherwise.
 */
export const Usage = defineEntity({
  name: 'Usage',
  tableName: 'usage',
  rowLevelSecurity: 'force',
  policies: ownedByUser('usage'),
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    /** Upload sessions in progress. */
    openUploads: count(),
    /** Declared sizes of the uploads in progress and of stored files. */
    storageBytes: count(),
    /** Upload sessions in any state. */
    uploads: count(),
    /** Parts that these sessions declared. */
    uploadParts: count(),
    documents: count(),
    /** Bytes of base64, over all versions of documents. */
    metadataBytes: count(),
    keywords: count(),
    /** Devices, revoked ones included. */
    devices: count(),
    shares: count(),
    shareRecipients: count(),
    /** Objects that are no tombstones. */
    syncObjects: count(),
    syncObjectBytes: count(),
    /** Recorded writes, which include one for each tombstone. */
    historyEntries: count(),
    /** Bytes of changed fields and of former values. */
    historyBytes: count(),
    /** Kept responses of sync writes and of requests with an Idempotency-Key. */
    keptAnswers: count(),
    keptAnswerBytes: count(),
  },
});
