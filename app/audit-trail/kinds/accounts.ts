import { z } from 'zod';
import { Count, nothing, Text, theUser, type EventKind } from './kind.ts';

const removedWithAccount = {
  documents: Count,
  uploads: Count,
  shares: Count,
  sharingKeys: Count,
  syncObjects: Count,
  envelopes: Count,
  devices: Count,
};

/** The system finishes what a user began and a process that died did not record. */
const theUserOrMaintenance = 'the user, or system if maintenance recorded the change';

/** Entries of accounts, logins and login sessions. */
export const accountEvents = {
  'account.registered': {
    resource: 'account',
    actor: 'anonymous',
    data: z.strictObject({ emailHash: Text }),
  },
  'account.token_renewed': {
    resource: 'account',
    actor: 'the user who submitted the job',
    data: nothing,
    note: 'the newest registration has another token',
  },
  'account.activated': {
    resource: 'account',
    actor: theUser,
    data: nothing,
  },
  'account.closed': {
    resource: 'account',
    actor: theUser,
    data: z.strictObject(removedWithAccount),
    note: 'how many objects were removed; `shares` includes the shares that the user received',
  },
  'account.swept': {
    resource: 'account',
    actor: 'system',
    data: z.strictObject({ sessions: Count, ...removedWithAccount }),
    note: 'how many objects of a large account, or added after the closure, were removed',
  },
  'account.granted': {
    resource: 'account',
    actor: 'system `cli`',
    data: z.strictObject({
      roles: Text.optional(),
      scopes: Text.optional(),
      plan: Text.optional(),
      tenant: Text.optional(),
      previousTenant: Text.optional(),
    }),
  },
  'account.revoked': {
    resource: 'account',
    actor: 'system `cli`',
    data: z.strictObject({
      roles: Text.optional(),
      scopes: Text.optional(),
      sessions: Count.optional(),
    }),
  },
  'account.purged': {
    resource: 'purge',
    actor: 'system, named by its internal key',
    data: z.strictObject({
      purgedAccounts: Count,
      removedAuditTraces: Count,
      removedEmails: Count,
    }),
    note: 'counts of one batch',
  },
  'auth.login': {
    resource: 'session',
    actor: theUser,
    data: z.strictObject({ method: Text, deviceId: Text.optional() }),
  },
  'auth.login_failed': {
    resource: 'account',
    actor: 'anonymous',
    data: z.strictObject({ addressHash: Text, count: Count, minute: Text }),
  },
  'auth.reauthenticated': {
    resource: 'session',
    actor: theUser,
    data: z.strictObject({ method: z.enum(['password', 'srp']) }),
  },
  'auth.token_issued': {
    resource: 'session',
    actor: 'system `cli`',
    data: z.strictObject({}),
    note: 'in development only: the token was issued without a login',
  },
  'auth.refreshed': {
    resource: 'session',
    actor: theUser,
    data: z.strictObject({ isRepeated: z.boolean().optional() }),
    note: '`isRepeated` if the refresh token came again, because its response was lost',
  },
  'auth.session_revoked': {
    resource: 'session',
    actor: theUser,
    data: z.strictObject({ bySession: Text.nullable() }),
  },
  'auth.refresh_reused': { resource: 'session', actor: 'anonymous', data: nothing },
  'mfa.started': { resource: 'account', actor: theUser, data: nothing },
  'mfa.enabled': {
    resource: 'account',
    actor: theUserOrMaintenance,
    data: nothing,
    note: 'the identity provider asks for one-time codes',
  },
  'mfa.disabled': { resource: 'account', actor: theUserOrMaintenance, data: nothing },
  'mfa.codes_regenerated': {
    resource: 'account',
    actor: theUserOrMaintenance,
    data: nothing,
    note: 'the recovery codes before are void',
  },
  'mfa.failed': {
    resource: 'account',
    actor: theUser,
    data: z.strictObject({ addressHash: Text, count: Count, minute: Text }),
    note: 'wrong one-time codes; the outcome is failure',
  },
  'credentials.changed': {
    resource: 'account',
    actor: theUser,
    data: z.strictObject({
      method: Text,
      isRekey: z.boolean().optional(),
      isRecovery: z.boolean().optional(),
      sessions: Count.optional(),
    }),
    note: '`sessions` is the number of other login sessions that were revoked',
  },
  'credentials.removed': {
    resource: 'account',
    actor: theUser,
    data: z.strictObject({ method: Text, sessions: Count }),
    note: 'the recovery envelope was restored to a state without a recovery login',
  },
} as const satisfies Record<string, EventKind>;
