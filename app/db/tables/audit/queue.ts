import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../../columns/columns.ts';
import { callerId, readUnder, servicePolicy } from '../../columns/policies.ts';

/** Returns the columns of a lease for sealing an entry. */
function lease() {
  return {
    /** Fencing token of the sealer that claimed the entry. */
    claimId: p.uuid().nullable(),
    /** End of the sealer's lease, or the time before which the entry is not tried again. */
    claimedUntil: timestamp().nullable(),
  };
}

/**
 * The entries that wait for their signature, apart from the log, so that sealing changes no row of
 * it. Only the trigger of `audit_log` adds rows; the sealer removes them.
 */
export const AuditQueue = defineEntity({
  name: 'AuditQueue',
  tableName: 'audit_queue',
  rowLevelSecurity: 'force',
  policies: [
    {
      name: 'audit_queue_append',
      command: 'insert',
      roles: ['probatio_app'],
      check: `user_id = ${callerId} and pg_trigger_depth() > 0`,
    },
    servicePolicy('audit_queue'),
  ],
  indexes: [
    { name: 'audit_queue_owner', properties: ['userId', 'transactionId', 'entryId'] },
    {
      name: 'audit_queue_tallied',
      expression:
        'create index audit_queue_tallied on audit_queue (transaction_id) where is_tallied',
    },
  ],
  properties: {
    /**
     * The number of the transaction that appended the entry, by which the queue is read: no
     * transaction that ends later has a lower one than the first that has not ended.
     */
    transactionId: p.string().columnType('xid8').defaultRaw('pg_current_xact_id()').primary(),
    entryId: p.uuid().primary(),
    userId: p.uuid(),
    /** Whether others than the owner can cause such entries. */
    isTallied: p.boolean(),
    attempts: p.integer().default(0),
    ...lease(),
  },
});

export type DeadLetterStatus = 'PENDING' | 'RECOVERED' | 'ABANDONED';

/** Entries that could not be sealed because of their own content, and their outcome. */
export const AuditDeadLetter = defineEntity({
  name: 'AuditDeadLetter',
  tableName: 'audit_dead_letters',
  rowLevelSecurity: 'force',
  policies: [
    readUnder('audit_dead_letters', 'entry_id', 'audit_log'),
    servicePolicy('audit_dead_letters'),
  ],
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
    ...lease(),
  },
});
