import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../db/columns.ts';
import { ownedByService } from '../db/policies.ts';

/** A person, by e-mail address. Usable once a registration of theirs has been validated. */
export const Account = defineEntity({
  name: 'Account',
  tableName: 'accounts',
  rowLevelSecurity: 'force',
  policies: ownedByService('accounts'),
  uniques: [{ name: 'accounts_email', properties: ['email'] }],
  checks: [{ name: 'accounts_status', expression: "status in ('PENDING_VALIDATION', 'ACTIVE')" }],
  properties: {
    id: p.uuid().primary(),
    tenantId: p.text(),
    email: p.text(),
    status: p.text().$type<'PENDING_VALIDATION' | 'ACTIVE'>(),
    plan: p.text(),
    roles: p.array().columnType('text[]'),
    scopes: p.array().columnType('text[]'),
    createdAt: createdAt(),
    activatedAt: timestamp().nullable(),
  },
});

/** One answer to the sign-up form: its own salt, verifier and token, until one is validated. */
export const Registration = defineEntity({
  name: 'Registration',
  tableName: 'registrations',
  rowLevelSecurity: 'force',
  policies: ownedByService('registrations'),
  uniques: [{ name: 'registrations_token', properties: ['tokenHash'] }],
  indexes: [{ name: 'registrations_account', properties: ['account'] }],
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account).mapToPk().deleteRule('cascade').updateRule('no action'),
    salt: p.text(),
    verifier: p.text(),
    tokenHash: p.text(),
    expiresAt: timestamp(),
    createdAt: createdAt(),
  },
});

/** What an account logs in with: hex salt and verifier v = g^x mod N. */
export const Credential = defineEntity({
  name: 'Credential',
  tableName: 'credentials',
  rowLevelSecurity: 'force',
  policies: ownedByService('credentials'),
  properties: {
    account: () =>
      p.manyToOne(Account).mapToPk().primary().deleteRule('cascade').updateRule('no action'),
    salt: p.text(),
    verifier: p.text(),
    createdAt: createdAt(),
  },
});
