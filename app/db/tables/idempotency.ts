import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../columns/columns.ts';
import { ownedByUser } from '../columns/policies.ts';

/** An Idempotency-Key of a user, with the claim of a running request or the stored response. */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  rowLevelSecurity: 'force',
  policies: ownedByUser('idempotency_keys'),
  indexes: [{ name: 'idempotency_keys_age', properties: ['createdAt'] }],
  properties: {
    userId: p.uuid().primary(),
    /** SHA-256 of tenant and key in hex. */
    keyHash: p.text().primary(),
    tenantId: p.text(),
    /** SHA-256 of method, path, parameters, query and body in hex. */
    requestHash: p.text(),
    /** Fencing token of the request that claimed the key. */
    claimId: p.uuid(),
    /** End of the claim's lease. */
    claimedUntil: timestamp(),
    /** HTTP status of the response; null until the request is done. */
    status: p.integer().nullable(),
    /**
     * Body of the response as JSON text, without what the request repeats; null until the request
     * is done.
     */
    response: p.text().nullable(),
    createdAt: createdAt(),
  },
});
