import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../columns/columns.ts';
import { ownedByUser } from '../columns/policies.ts';

/** A request that a client may send again under one key: under way, or done with its answer. */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  rowLevelSecurity: 'force',
  policies: ownedByUser('idempotency_keys'),
  indexes: [{ name: 'idempotency_keys_age', properties: ['createdAt'] }],
  properties: {
    userId: p.uuid().primary(),
    /** SHA-256 of tenant and key, hex. */
    keyHash: p.text().primary(),
    tenantId: p.text(),
    /** SHA-256 of method, path and body, hex. */
    requestHash: p.text(),
    /** The request that has the key, and until when, unless it is done. */
    claimId: p.uuid(),
    claimedUntil: timestamp(),
    /** Null until done. */
    status: p.integer().nullable(),
    /** JSON text. */
    response: p.text().nullable(),
    createdAt: createdAt(),
  },
});
