import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../db/columns.ts';
import { ownedByService, ownedByUser } from '../db/policies.ts';

/**
 * One thing that happened. `canonical` is the evidence itself; the other columns find it. The app
 * login may insert and read, never change: only the sealer adds hash, signature and key.
 */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  rowLevelSecurity: 'force',
  policies: ownedByUser('audit_entries'),
  uniques: [
    {
      name: 'audit_entries_seq',
      properties: ['userId', 'resourceType', 'resourceId', 'seq'],
    },
  ],
  indexes: [
    {
      name: 'audit_entries_unsealed',
      expression:
        "create index audit_entries_unsealed on audit_entries (id) where state = 'PENDING'",
    },
  ],
  checks: [
    { name: 'audit_entries_state', expression: "state in ('PENDING', 'SEALED', 'DEAD')" },
    {
      name: 'audit_entries_sealed',
      expression:
        "(state = 'SEALED') = (hash is not null and signature is not null and key_id is not null and sealed_at is not null)",
    },
    {
      name: 'audit_entries_erased',
      expression:
        "(canonical is null) = (erased_at is not null) and (erased_at is null or state = 'SEALED')",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    /** Owner of the resource; the nil UUID where it belongs to no user. */
    userId: p.uuid(),
    tenantId: p.text(),
    resourceType: p.text(),
    resourceId: p.text(),
    seq: p.bigint('number'),
    action: p.text(),
    /** Null once erased; hash and signature stay. */
    canonical: p.text().nullable(),
    state: p.text().$type<'PENDING' | 'SEALED' | 'DEAD'>().default('PENDING'),
    hash: p.text().nullable(),
    signature: p.text().nullable(),
    keyId: p.text().nullable(),
    createdAt: createdAt(),
    sealedAt: timestamp().nullable(),
    erasedAt: timestamp().nullable(),
    attempts: p.integer().default(0),
    /** Fencing token of the sealer that has the entry, and until when. */
    claimId: p.uuid().nullable(),
    claimedUntil: timestamp().nullable(),
  },
});

/** The last `seq` of each resource; locked by every append, so that numbers have no gaps. */
export const AuditSequence = defineEntity({
  name: 'AuditSequence',
  tableName: 'audit_sequences',
  rowLevelSecurity: 'force',
  policies: ownedByUser('audit_sequences'),
  properties: {
    userId: p.uuid().primary(),
    resourceType: p.text().primary(),
    resourceId: p.text().primary(),
    tenantId: p.text(),
    lastSeq: p.bigint('number'),
  },
});

/** Entries that cannot be sealed for their own sake, and why. */
export const AuditDeadLetter = defineEntity({
  name: 'AuditDeadLetter',
  tableName: 'audit_dead_letters',
  rowLevelSecurity: 'force',
  policies: ownedByService('audit_dead_letters'),
  properties: {
    entryId: p.uuid().primary(),
    reason: p.text(),
    attempts: p.integer(),
    createdAt: createdAt(),
  },
});

/**
 * Events that come in numbers (failed logins, reads of proofs), counted a minute; a worker makes one
 * entry of each row.
 */
export const AuditTally = defineEntity({
  name: 'AuditTally',
  tableName: 'audit_tallies',
  rowLevelSecurity: 'force',
  policies: ownedByService('audit_tallies'),
  properties: {
    minute: timestamp().primary(),
    userId: p.uuid().primary(),
    action: p.text().primary(),
    /** '' for strangers. */
    actorId: p.text().primary(),
    resourceType: p.text().primary(),
    resourceId: p.text().primary(),
    /** JSON text of what the events have in common. */
    detail: p.text().primary(),
    tenantId: p.text(),
    count: p.integer(),
  },
});
