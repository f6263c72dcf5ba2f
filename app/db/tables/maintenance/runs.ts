import { defineEntity, p } from '@mikro-orm/core';
import { timestamp } from '../../columns/columns.ts';
import { ownedByService } from '../../columns/policies.ts';

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

/**
 * A run of a maintenance task. A run without an end whose lease has expired was interrupted: its
 * process died.
 */
export const MaintenanceRun = defineEntity({
  name: 'MaintenanceRun',
  tableName: 'maintenance_runs',
  rowLevelSecurity: 'force',
  policies: ownedByService('maintenance_runs'),
  indexes: [{ name: 'maintenance_runs_task', properties: ['task', 'id'] }],
  checks: [
    {
      name: 'maintenance_runs_lease',
      expression: '(held_until is null) = (ended_at is not null)',
    },
    { name: 'maintenance_runs_error', expression: 'error is null or ended_at is not null' },
  ],
  properties: {
    /** UUIDv7, so that a later run has a greater id. */
    id: p.uuid().primary(),
    task: p.text(),
    dryRun: p.boolean(),
    /** The name of the internal API key. */
    requestedBy: p.text(),
    /** JSON text: the counts of the batches that were committed. */
    counts: p.text().default('{}'),
    startedAt: timestamp(),
    /** End of the run's lease, by Postgres's clock; null once the run has ended. */
    heldUntil: timestamp().nullable(),
    endedAt: timestamp().nullable(),
    /** The code of the error that ended the run; null if it succeeded. */
    error: p.text().nullable(),
  },
});
