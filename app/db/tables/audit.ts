import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, insertedAt, timestamp } from '../columns/columns.ts';
import { onlyInserts, ownedByService, ownedByUser } from '../columns/policies.ts';
import { refuses } from '../columns/triggers.ts';

/**
 * State of an audit entry. PENDING: waits for its signature. DEAD: in the dead-letter queue.
 * ABANDONED: never to be signed, as a signed tombstone records.
 */
type EntryState = 'PENDING' | 'SEALED' | 'DEAD' | 'ABANDONED';

/**
 * An audited event. `canonical` is the evidence itself; the other columns serve to find and verify
 * entries. The app login may insert unsealed entries and read entries, but not change them; only
 * the sealer adds the members of the seal, hash, signature and key. No login changes a sealed
 * entry, except that the purge erases its text, or removes an entry.
 */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  rowLevelSecurity: 'force',
  policies: [
    ...ownedByUser('audit_entries'),
    onlyInserts(
      'audit_entries',
      "state = 'PENDING' and hash is null and signature is null and key_id is null " +
        'and sealed_at is null and not late and attempts = 0 and claim_id is null ' +
        'and claimed_until is null',
    ),
    // Entries of signing keys and marks are the service's: no request of a user causes one.
    {
      ...onlyInserts(
        'audit_entries',
        "not starts_with(action, 'key.') and action <> 'vault.marked'",
      ),
      name: 'audit_entries_actions',
    },
  ],
  triggers: [
    refuses('audit_entries', {
      name: 'sealed',
      event: 'update',
      when:
        "old.state = 'SEALED' and (row(new.id, new.user_id, new.tenant_id, new.resource_type, " +
        'new.resource_id, new.seq, new.action, new.state, new.hash, new.signature, new.key_id, ' +
        'new.sealed_at, new.late) is distinct from row(old.id, old.user_id, old.tenant_id, ' +
        'old.resource_type, old.resource_id, old.seq, old.action, old.state, old.hash, ' +
        'old.signature, old.key_id, old.sealed_at, old.late) ' +
        'or new.canonical is not null and new.canonical is distinct from old.canonical)',
    }),
  ],
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
        'create index audit_entries_unsealed on audit_entries (user_id, created_at, id) ' +
        "where state = 'PENDING'",
    },
    {
      name: 'audit_entries_tallied',
      expression:
        'create index audit_entries_tallied on audit_entries (user_id) ' +
        "where state = 'PENDING' and action in ('auth.login_failed', 'audit.read', " +
        "'mfa.failed', 'document.downloaded', 'internal_key.used')",
    },
    { name: 'audit_entries_owner', properties: ['userId', 'id'] },
    { name: 'audit_entries_tenant', properties: ['tenantId', 'id'] },
    { name: 'audit_entries_resource', properties: ['resourceId', 'id'] },
  ],
  checks: [
    {
      name: 'audit_entries_state',
      expression: "state in ('PENDING', 'SEALED', 'DEAD', 'ABANDONED')",
    },
    {
      name: 'audit_entries_sealed',
      expression:
        "(state = 'SEALED') = (hash is not null and signature is not null " +
        'and key_id is not null and sealed_at is not null)',
    },
    {
      name: 'audit_entries_erased',
      expression:
        '(canonical is null) = (erased_at is not null) ' +
        "and (erased_at is null or state in ('SEALED', 'ABANDONED'))",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    /** Owner of the resource; the nil UUID if it belongs to no user. */
    userId: p.uuid(),
    tenantId: p.text(),
    resourceType: p.text(),
    resourceId: p.text(),
    seq: p.bigint('number'),
    action: p.text(),
    /**
     * RFC 8785 text as it was appended: the signed text has the members of the seal too. Null once
     * erased; hash and signature stay.
     */
    canonical: p.text().nullable(),
    state: p.text().$type<EntryState>().default('PENDING'),
    hash: p.text().nullable(),
    signature: p.text().nullable(),
    keyId: p.text().nullable(),
    /** By the clock of the database: neither login can set it. */
    createdAt: insertedAt(),
    /** The member `sealedAt`, which the signer added. */
    sealedAt: timestamp().nullable(),
    /** The member `late`, which the signer added. */
    late: p.boolean().default(false),
    erasedAt: timestamp().nullable(),
    attempts: p.integer().default(0),
    /** Fencing token of the sealer that claimed the entry. */
    claimId: p.uuid().nullable(),
    /** End of the sealer's lease. */
    claimedUntil: timestamp().nullable(),
  },
});

/**
 * The last `seq` of each resource. Every append locks the row, so that numbers have no gaps. The
 * numbers never decrease, and the app login counts from 1 in steps of 1.
 */
export const AuditSequence = defineEntity({
  name: 'AuditSequence',
  tableName: 'audit_sequences',
  rowLevelSecurity: 'force',
  policies: [...ownedByUser('audit_sequences'), onlyInserts('audit_sequences', 'last_seq = 1')],
  triggers: [
    refuses('audit_sequences', {
      name: 'forward',
      event: 'update',
      when:
        '(row(new.user_id, new.tenant_id, new.resource_type, new.resource_id) is distinct from ' +
        'row(old.user_id, old.tenant_id, old.resource_type, old.resource_id) ' +
        'or new.last_seq < old.last_seq or new.last_seq <> old.last_seq + 1 ' +
        "and not pg_has_role(session_user, 'probatio_service', 'usage'))",
    }),
  ],
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    resourceType: p.text().primary(),
    resourceId: p.text().primary(),
    lastSeq: p.bigint('number'),
  },
});

export type DeadLetterStatus = 'PENDING' | 'RECOVERED' | 'ABANDONED';

/** Entries that could not be sealed because of their own content, and their outcome. */
export const AuditDeadLetter = defineEntity({
  name: 'AuditDeadLetter',
  tableName: 'audit_dead_letters',
  rowLevelSecurity: 'force',
  policies: ownedByService('audit_dead_letters'),
  indexes: [
    {
      name: 'audit_dead_letters_pending',
      expression:
        'create index audit_dead_letters_pending on audit_dead_letters (created_at) ' +
        "where status = 'PENDING'",
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
        "(status = 'PENDING') = (ended_at is null) " +
        "and (status = 'ABANDONED') = (tombstone_id is not null)",
    },
  ],
  properties: {
    entryId: p.uuid().primary(),
    /** The latest fault, by its code in the signer's protocol. */
    reason: p.text(),
    attempts: p.integer(),
    status: p.text().$type<DeadLetterStatus>().default('PENDING'),
    createdAt: createdAt(),
    endedAt: timestamp().nullable(),
    /** Id of the signed tombstone entry of an abandoned entry. */
    tombstoneId: p.uuid().nullable(),
    /** Reason that the operator gave. */
    abandonReason: p.text().nullable(),
    /** Name that the operator gave. */
    abandonedBy: p.text().nullable(),
  },
});

/**
 * The number of entries ever sealed, as the sum over all slots. Each transaction adds to a slot
 * chosen at random, so that concurrent transactions seldom wait for each other.
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

/** The newest audit mark written to the object store, as a single row. */
export const AuditMark = defineEntity({
  name: 'AuditMark',
  tableName: 'audit_marks',
  rowLevelSecurity: 'force',
  policies: ownedByService('audit_marks'),
  checks: [{ name: 'audit_marks_single', expression: 'id = 1' }],
  properties: {
    id: p.integer().primary().autoincrement(false),
    /** UUIDv7, so that a later mark has a greater id. */
    markId: p.uuid(),
    writtenAt: timestamp(),
  },
});

/**
 * The high-water mark by which an operator accepts what a restore lost, until the next mark is
 * written.
 */
export const RestoreAcceptance = defineEntity({
  name: 'RestoreAcceptance',
  tableName: 'restore_acceptances',
  rowLevelSecurity: 'force',
  policies: ownedByService('restore_acceptances'),
  properties: {
    markId: p.uuid().primary(),
    acceptedAt: createdAt(),
    /** The parts of the vault that the first start to use it found lacking; null before that. */
    lacking: p.array().columnType('text[]').nullable(),
    /** When the audit entry about what is lost was appended. */
    recordedAt: timestamp().nullable(),
  },
});

/**
 * Counts of frequent events (failed logins, reads of audit proofs) by minute. A worker turns each
 * row into one audit entry.
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
    /** Empty for unauthenticated clients. */
    actorId: p.text().primary(),
    resourceType: p.text().primary(),
    resourceId: p.text().primary(),
    /** JSON text of the details that the events share. */
    detail: p.text().primary(),
    count: p.integer(),
  },
});
