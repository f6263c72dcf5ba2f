import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../columns/columns.ts';
import { servicePolicy } from '../columns/policies.ts';

/**
 * A side effect promised by a transaction: written with it, done after it at least once, then
 * deleted. The app login may only insert, and only what becomes of stored files.
 */
export const OutboxMessage = defineEntity({
  name: 'OutboxMessage',
  tableName: 'outbox',
  rowLevelSecurity: 'force',
  policies: [
    {
      name: 'outbox_append',
      command: 'insert',
      roles: ['probatio_app'],
      check: "kind in ('object.delete', 'multipart.abort')",
    },
    servicePolicy('outbox'),
  ],
  indexes: [
    { name: 'outbox_due', properties: ['availableAt'] },
    {
      name: 'outbox_user',
      expression: 'create index outbox_user on outbox (user_id) where user_id is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    kind: p.text(),
    /** Whom it concerns, where that is somebody who may be purged. */
    userId: p.uuid().nullable(),
    /** JSON text; its form is the kind's. */
    payload: p.text(),
    attempts: p.integer().default(0),
    /** Not before this moment: a retry's backoff, or the lease of the worker that has it. */
    availableAt: timestamp().defaultRaw('now()'),
    createdAt: createdAt(),
  },
});
