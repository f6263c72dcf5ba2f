import { defineEntity, p } from '@mikro-orm/core';
import { timestamp } from '../../columns/columns.ts';
import { ownedByService } from '../../columns/policies.ts';

/**
 * Counts of frequent events (failed logins, reads of audit proofs) by minute. A worker turns each
 * row into one audit entry.
 */
export const AuditTally = defineEntity({
  name: 'AuditTally',
  tableName: 'audit_tallies',
  rowLevelSecurity: 'force',
  policies: ownedByService('audit_tallies'),
  indexes: [{ name: 'audit_tallies_user', properties: ['userId'] }],
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
