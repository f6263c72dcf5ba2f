import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../columns/columns.ts';
import { ownedByService, ownedByUser } from '../columns/policies.ts';

/**
 * PENDING waits for its signature; DEAD is in the dead-letter queue; ABANDONED will never be signed,
 * and a signed tombstone says so.
 */
type EntryState = 'PENDING' | 'SEALED' | 'DEAD' | 'ABANDONED';

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
      properties: ['userId', 'tenantId', 'resourceType', 'resourceId', 'seq'],
    },
  ],
  indexes: [
    {
      name: 'audit_entries_unsealed',
      expression:
        "create index audit_entries_unsealed on audit_entries (id) where state = 'PENDING'",
    },
    { name: 'audit_entries_owner', properties: ['userId', 'id'] },
  ],
  checks: [
    {
      name: 'audit_entries_state',
      expression: "state in ('PENDING', 'SEALED', 'DEAD', 'ABANDONED')",
    },
    {
      name: 'audit_entries_sealed',
      expression:
        "(state = 'SEALED') = (hash is not null and signature is not null and key_id is not null and sealed_at is not null)",
    },
    {
      name: 'audit_entries_erased',
      expression:
        "(canonical is null) = (erased_at is not null) and (erased_at is null or state in ('SEALED', 'ABANDONED'))",
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
    state: p.text().$type<EntryState>().default('PENDING'),
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
    tenantId: p.text().primary(),
    resourceType: p.text().primary(),
    resourceId: p.text().primary(),
    lastSeq: p.bigint('number'),
  },
});

export type DeadLetterStatus = 'PENDING' | 'RECOVERED' | 'ABANDONED';

/** Entries that could not be sealed for their own sake, and what became of them. */
export const AuditDeadLetter = defineEntity({
  name: 'AuditDeadLetter',
  tableName: 'audit_dead_letters',
  rowLevelSecurity: 'force',
  policies: ownedByService('audit_dead_letters'),
  indexes: [
    {
      name: 'audit_dead_letters_pending',
      expression:
        "create index audit_dead_letters_pending on audit_dead_letters (created_at) where status = 'PENDING'",
    },
  ],
  checks: [
    {
      name: 'audit_dead_letters_status',
      expression: "status in ('PENDING', 'RECOVERED', 'ABANDONED')",
    },
    {
      name: 'audit_dead_letters_ended',
      expression:
        "(status = 'PENDING') = (ended_at is null) and (status = 'ABANDONED') = (tombstone_id is not null)",
    },
  ],
  properties: {
    entryId: p.uuid().primary(),
    /** A fault of the signer's protocol; the latest one. */
    reason: p.text(),
    attempts: p.integer(),
    status: p.text().$type<DeadLetterStatus>().default('PENDING'),
    createdAt: createdAt(),
    endedAt: timestamp().nullable(),
    /** Of an abandoned one: the entry that says so, signed in its place. */
    tombstoneId: p.uuid().nullable(),
    /** What the operator gave as the reason, and as who it was. */
    abandonReason: p.text().nullable(),
    abandonedBy: p.text().nullable(),
  },
});

/**
 * How many entries were ever sealed: the sum over all slots. Each sealing process counts in a slot of
 * its own, so that they do not wait for each other.
 */
export const AuditTotal = defineEntity({
  name: 'AuditTotal',
  tableName: 'audit_totals',
  rowLevelSecurity: 'force',
  policies: ownedByService('audit_totals'),
  properties: {
    slot: p.integer().primary().autoincrement(false),
    sealed: p.bigint('number'),
  },
});

/** The newest mark that was written to the object store: a single row. */
export const AuditMark = defineEntity({
  name: 'AuditMark',
  tableName: 'audit_marks',
  rowLevelSecurity: 'force',
  policies: ownedByService('audit_marks'),
  checks: [{ name: 'audit_marks_single', expression: 'id = 1' }],
  properties: {
    id: p.integer().primary().autoincrement(false),
    /** UUIDv7: a later mark has a greater one. */
    markId: p.uuid(),
    writtenAt: timestamp(),
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
    tenantId: p.text().primary(),
    action: p.text().primary(),
    /** '' for strangers. */
    actorId: p.text().primary(),
    resourceType: p.text().primary(),
    resourceId: p.text().primary(),
    /** JSON text of what the events have in common. */
    detail: p.text().primary(),
    count: p.integer(),
  },
});
