import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../../columns/columns.ts';
import { ownedByService, servicePolicy, shownToAll } from '../../columns/policies.ts';

/**
 * DETACHING: the month has left the log, and its rows are not noted yet. AWAY: it has left the log.
 * ATTACHED: it is part of the log again.
 */
export type ArchiveState = 'DETACHING' | 'AWAY' | 'ATTACHED';

/**
 * The months of the log that left it, and what their rows were. Only the owner of the database
 * writes it, by `probatio partitions`, and so row-level security is not forced on it; both logins
 * read it.
 */
export const AuditArchive = defineEntity({
  name: 'AuditArchive',
  tableName: 'audit_archives',
  rowLevelSecurity: true,
  policies: [shownToAll('audit_archives'), servicePolicy('audit_archives')],
  checks: [
    { name: 'audit_archives_month', expression: "month ~ '^[0-9]{4}-[0-9]{2}$'" },
    {
      name: 'audit_archives_state',
      expression: "state in ('DETACHING', 'AWAY', 'ATTACHED')",
    },
    {
      name: 'audit_archives_noted',
      expression:
        "(state = 'DETACHING') = (digest is null) and (digest is null) = (entries is null) " +
        'and (digest is null) = (seals is null)',
    },
    {
      name: 'audit_archives_returned',
      expression: "(state = 'ATTACHED') = (attached_at is not null)",
    },
  ],
  properties: {
    /** Year and month in UTC, such as 2026-01. */
    month: p.text().primary(),
    state: p.text().$type<ArchiveState>(),
    entries: p.bigint('number').nullable(),
    seals: p.bigint('number').nullable(),
    /** SHA-256 over the hashes of all rows; null until the rows are noted. */
    digest: p.blob().nullable(),
    detachedAt: createdAt(),
    attachedAt: timestamp().nullable(),
  },
});

/** The users whose entries of a month that is away are erased when the month is attached. */
export const AuditArchiveErasure = defineEntity({
  name: 'AuditArchiveErasure',
  tableName: 'audit_archive_erasures',
  rowLevelSecurity: true,
  policies: ownedByService('audit_archive_erasures'),
  properties: {
    month: p.text().primary(),
    userId: p.uuid().primary(),
    recordedAt: timestamp(),
  },
});
