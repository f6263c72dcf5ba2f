import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { Maintenance } from './maintenance.ts';
import {
  CollectedGarbage,
  DrainedOutbox,
  ExpiredDocuments,
  ExpiredUploads,
  MaintenanceQuery,
  MaintenanceStatus,
  PurgedOldJobs,
  Reencrypted,
  RetriedDeadLetters,
  VerifiedFiles,
  VerifiedLog,
} from './schema.ts';

const common = {
  method: 'post',
  tag: 'Operation',
  access: 'internal',
  query: MaintenanceQuery,
  status: 200,
} as const;

const errors = ['maintenance_running', 'audit_backlog_full', 'shutting_down'] as const;

const route = routeFor<{ readonly maintenance: Maintenance }>();

export const maintenanceRoutes = [
  route({
    method: 'get',
    path: '/v1/internal/maintenance',
    operation: 'getMaintenanceStatus',
    tag: 'Operation',
    access: 'internal',
    summary: 'Returns how the maintenance tasks fare, and what waits to be done',
    status: 200,
    response: MaintenanceStatus,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: ({ maintenance }, { request }) => maintenance.status(request),
  }),
  route({
    ...common,
    path: '/v1/internal/maintenance/expire-uploads',
    operation: 'expireUploads',
    summary: 'Expires uploads that nobody continues',
    response: ExpiredUploads,
    errors,
    audit: {
      actions: ['upload.expired', 'maintenance.ran'],
      note: '`maintenance.ran` for each batch',
    },
    handler: ({ maintenance }, { request, query }) => maintenance.expireUploads(request, query),
  }),
  route({
    ...common,
    path: '/v1/internal/maintenance/expire-documents',
    operation: 'expireDocuments',
    summary: 'Expires versions of documents that were not sealed in time',
    response: ExpiredDocuments,
    errors,
    audit: { actions: ['document.expired', 'maintenance.ran'] },
    handler: ({ maintenance }, { request, query }) => maintenance.expireDocuments(request, query),
  }),
  route({
    ...common,
    path: '/v1/internal/maintenance/collect-garbage',
    operation: 'collectGarbage',
    summary: 'Removes unreferenced objects from the object store, and expired rows of the database',
    response: CollectedGarbage,
    errors: [...errors, 'storage_unavailable', 'signer_unavailable'],
    audit: { actions: ['maintenance.ran'], note: 'for each batch' },
    handler: ({ maintenance }, { request, query }) => maintenance.collectGarbage(request, query),
  }),
  route({
    ...common,
    path: '/v1/internal/maintenance/drain-outbox',
    operation: 'drainOutbox',
    summary: 'Tries the side effects again that had failed too often',
    response: DrainedOutbox,
    errors,
    audit: { actions: ['maintenance.ran'], note: 'for each batch' },
    handler: ({ maintenance }, { request, query }) => maintenance.drainOutbox(request, query),
  }),
  route({
    ...common,
    path: '/v1/internal/maintenance/purge-jobs',
    operation: 'purgeOldJobs',
    summary: 'Removes the jobs of all users that have long been over',
    response: PurgedOldJobs,
    errors: [...errors, 'queue_unavailable'],
    audit: { actions: ['maintenance.ran'], note: 'for each batch' },
    handler: ({ maintenance }, { request, query }) => maintenance.purgeJobs(request, query),
  }),
  route({
    ...common,
    path: '/v1/internal/maintenance/retry-dlq',
    operation: 'retryAllDeadLetters',
    summary: 'Tries to sign every entry of the dead-letter queue again',
    response: RetriedDeadLetters,
    errors: [...errors, 'storage_unavailable', 'signer_unavailable'],
    audit: {
      actions: ['audit.retried', 'maintenance.ran'],
      note: '`audit.retried` for each entry, `maintenance.ran` for each batch',
    },
    handler: ({ maintenance }, { request, query }) => maintenance.retryDeadLetters(request, query),
  }),
  route({
    ...common,
    path: '/v1/internal/maintenance/reencrypt',
    operation: 'reencrypt',
    summary: 'Encrypts everything at rest with the current generation of the encryption key',
    response: Reencrypted,
    errors: [...errors, 'signer_unavailable'],
    audit: { actions: ['maintenance.ran'], note: 'for each batch' },
    handler: ({ maintenance }, { request, query }) => maintenance.reencrypt(request, query),
  }),
  route({
    ...common,
    path: '/v1/internal/maintenance/verify-files',
    operation: 'verifyFiles',
    summary: 'Reads stored files again and compares them with the hashes of their uploads',
    response: VerifiedFiles,
    errors: [...errors, 'storage_unavailable'],
    audit: {
      actions: ['document.fixity_failed', 'maintenance.ran'],
      note: '`document.fixity_failed` once for each damage, `maintenance.ran` for each batch',
    },
    handler: ({ maintenance }, { request, query }) => maintenance.verifyFiles(request, query),
  }),
  route({
    ...common,
    path: '/v1/internal/maintenance/verify-log',
    operation: 'verifyLog',
    summary: 'Verifies the newest entries of the audit log, and its next stretch',
    response: VerifiedLog,
    maxAnswerBytes: listBytes,
    errors: [...errors, 'log_damaged'],
    audit: { actions: ['maintenance.ran'], note: 'for each batch' },
    handler: ({ maintenance }, { request, query }) => maintenance.verifyLog(request, query),
  }),
];
