import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, timestamp } from '../columns/columns.ts';
import { ownedByService, servicePolicy } from '../columns/policies.ts';

/**
 * A side effect of a transaction (transactional outbox). The message is stored in the transaction,
 * carried out at least once after the commit, and then deleted. The app login may only insert, and
 * only messages about stored files, but no deletion of the object of a sealed version.
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
      check:
        "kind in ('object.delete', 'multipart.abort') and not (kind = 'object.delete' " +
        'and exists (select 1 from document_versions where document_versions.storage_key = ' +
        "outbox.payload::json ->> 'key' and document_versions.status = 'SEALED'))",
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
    /** User whose data the message holds, if a purge of that user must delete it. */
    userId: p.uuid().nullable(),
    /** JSON text, whose schema depends on the kind. */
    payload: p.text(),
    attempts: p.integer().default(0),
    /** Earliest next attempt: the end of a retry's backoff, or of a worker's lease. */
    availableAt: timestamp().defaultRaw('now()'),
    createdAt: createdAt(),
  },
});

/**
 * The lock of a maintenance task, which one run holds at a time. The times are those of Postgres's
 * clock.
 */
export const MaintenanceLock = defineEntity({
  name: 'MaintenanceLock',
  tableName: 'maintenance_locks',
  rowLevelSecurity: 'force',
  policies: ownedByService('maintenance_locks'),
  properties: {
    task: p.text().primary(),
    /** Fencing token of the last run to take the lock, which was given to no other run. */
    token: p.bigint('number'),
    /** End of the run's lease; null once the run has ended. */
    heldUntil: timestamp().nullable(),
  },
});
