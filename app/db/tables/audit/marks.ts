import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../../columns/columns.ts';
import { ownedByService } from '../../columns/policies.ts';

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
