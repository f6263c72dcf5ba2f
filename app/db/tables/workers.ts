import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../columns/columns.ts';
import { onlyInserts, ownedByService, ownedByUser, servicePolicy } from '../columns/policies.ts';
import { refuses } from '../columns/triggers.ts';
import { Document } from './documents.ts';

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
    {
      name: 'outbox_due',
      expression: 'create index outbox_due on outbox (available_at) where parked_at is null',
    },
    {
      name: 'outbox_parked',
      expression: 'create index outbox_parked on outbox (parked_at) where parked_at is not null',
    },
    {
      name: 'outbox_user',
      expression: 'create index outbox_user on outbox (user_id) where user_id is not null',
    },
    {
      name: 'outbox_mail_to',
      expression:
        "create index outbox_mail_to on outbox ((payload::json ->> 'to')) where kind = 'email'",
    },
    {
      name: 'outbox_key',
      expression:
        "create index outbox_key on outbox ((payload::json ->> 'key')) " +
        "where kind in ('object.delete', 'multipart.abort')",
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
    /** When the message had failed too often; null unless it waits for the task `drain-outbox`. */
    parkedAt: timestamp().nullable(),
    createdAt: createdAt(),
  },
});

export type JobState = 'PENDING' | 'ACTIVE' | 'COMPLETED' | 'FAILED' | 'RETRIED';

/**
 * A job that a user submitted. The app login may only submit one; workers run it. A job that is
 * over changes no more, except that a failed one can be retried. The times are those of Postgres's
 * clock.
 */
export const Job = defineEntity({
  name: 'Job',
  tableName: 'jobs',
  rowLevelSecurity: 'force',
  policies: [
    ...ownedByUser('jobs'),
    onlyInserts('jobs', "state = 'PENDING' and attempts = 0 and result is null and error is null"),
  ],
  triggers: [
    refuses('jobs', {
      name: 'over',
      event: 'update',
      when:
        "(old.state in ('COMPLETED', 'RETRIED') " +
        "or old.state = 'FAILED' and new.state <> 'RETRIED')",
    }),
  ],
  checks: [
    {
      name: 'jobs_state',
      expression: "state in ('PENDING', 'ACTIVE', 'COMPLETED', 'FAILED', 'RETRIED')",
    },
    { name: 'jobs_lease', expression: "(state = 'ACTIVE') = (held_until is not null)" },
    {
      name: 'jobs_finished',
      expression: "(state in ('PENDING', 'ACTIVE')) = (finished_at is null)",
    },
  ],
  indexes: [
    { name: 'jobs_owner', properties: ['userId', 'tenantId', 'id'] },
    {
      name: 'jobs_open',
      expression:
        'create index jobs_open on jobs (tenant_id, user_id, state) ' +
        "where state in ('PENDING', 'ACTIVE')",
    },
    {
      name: 'jobs_due',
      expression: "create index jobs_due on jobs (id) where state in ('PENDING', 'ACTIVE')",
    },
    {
      name: 'jobs_finished_at',
      expression:
        'create index jobs_finished_at on jobs (finished_at, id) where finished_at is not null',
    },
    {
      name: 'jobs_finished_in_tenant',
      expression:
        'create index jobs_finished_in_tenant on jobs (tenant_id, finished_at, id) ' +
        'where finished_at is not null',
    },
    {
      name: 'jobs_failed',
      expression: "create index jobs_failed on jobs (finished_at, id) where state = 'FAILED'",
    },
    {
      name: 'jobs_failed_in_tenant',
      expression:
        'create index jobs_failed_in_tenant on jobs (tenant_id, finished_at, id) ' +
        "where state = 'FAILED'",
    },
    {
      name: 'jobs_failed_of_user',
      expression:
        'create index jobs_failed_of_user on jobs (user_id, tenant_id, finished_at, id) ' +
        "where state = 'FAILED'",
    },
  ],
  properties: {
    /** UUIDv7, made by the server. */
    id: p.uuid().primary(),
    ...owner(),
    type: p.text(),
    /** JSON text; null once it was erased. */
    payload: p.text().nullable(),
    state: p.text().$type<JobState>().default('PENDING'),
    /** How often a worker has begun the job. */
    attempts: p.integer().default(0),
    /** Fencing token of the last worker to take the job, which was given to no other. */
    token: p.bigint('number').defaultRaw('0'),
    /** End of the worker's lease. */
    heldUntil: timestamp().nullable(),
    /** Earliest begin of the next attempt. */
    availableAt: timestamp().defaultRaw('now()'),
    /** The server's id of the request that submitted the job. */
    requestId: p.uuid(),
    /** The job that this one retries. */
    originalId: p.uuid().nullable(),
    /** Position in the chain of retries, which begins with 0. */
    retryCount: p.integer().default(0),
    /** JSON text. */
    result: p.text().nullable(),
    /** A code that says why the job failed. */
    error: p.text().nullable(),
    /** Whether another try of a failed job may help. */
    retryable: p.boolean().nullable(),
    submittedAt: createdAt(),
    finishedAt: timestamp().nullable(),
  },
});

/** How many jobs of a tenant are over, by state. Triggers of `jobs` count. */
export const JobTotal = defineEntity({
  name: 'JobTotal',
  tableName: 'job_totals',
  rowLevelSecurity: 'force',
  policies: ownedByService('job_totals'),
  properties: {
    tenantId: p.text().primary(),
    state: p.text().primary().$type<JobState>(),
    count: p.bigint('number'),
  },
});

/**
 * The archive of an evidence export, of a job that is completed. Whoever removes a row has the
 * outbox remove the stored file; a stored file without a row is garbage.
 */
export const EvidenceExport = defineEntity({
  name: 'EvidenceExport',
  tableName: 'evidence_exports',
  rowLevelSecurity: 'force',
  policies: ownedByUser('evidence_exports'),
  uniques: [{ name: 'evidence_exports_document', properties: ['document'] }],
  indexes: [
    { name: 'evidence_exports_owner', properties: ['userId', 'tenantId'] },
    { name: 'evidence_exports_expiry', properties: ['expiresAt'] },
    { name: 'evidence_exports_key', properties: ['storageKey'] },
  ],
  properties: {
    job: () => p.manyToOne(Job).mapToPk().primary().deleteRule('cascade').updateRule('no action'),
    ...owner(),
    document: () => p.manyToOne(Document).mapToPk().deleteRule('cascade').updateRule('no action'),
    storageKey: p.text(),
    objectVersion: p.text(),
    /** Size in bytes. */
    size: p.bigint('number'),
    /** SHA3-256 of the file, hex. */
    hash: p.text(),
    expiresAt: timestamp(),
  },
});
