import type { z } from 'zod';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { RequestInfo } from '../http/requests/request.ts';
import { route, type Route } from '../http/routing/route.ts';
import {
  CollectedGarbage,
  ExpiredDocuments,
  ExpiredUploads,
  MaintenanceQuery,
  RetriedDeadLetters,
} from './schema.ts';
import type { Maintenance } from './maintenance.ts';
import type { RunRequest } from './task.ts';

const common = {
  method: 'post',
  tag: 'Maintenance',
  access: 'internal',
  query: MaintenanceQuery,
  status: 200,
} as const;

const errors = ['maintenance_running', 'audit_backlog_full', 'shutting_down'] as const;

export function createMaintenanceRoutes(options: { readonly maintenance: Maintenance }): Route[] {
  const { maintenance } = options;
  return [
    route({
      ...common,
      path: '/v1/internal/maintenance/expire-uploads',
      summary: 'Ends uploads that nobody goes on with',
      response: ExpiredUploads,
      errors,
      handler: (input) => maintenance.expireUploads(toRequest(input)),
    }),
    route({
      ...common,
      path: '/v1/internal/maintenance/expire-documents',
      summary: 'Ends versions of documents that were not sealed in time',
      response: ExpiredDocuments,
      errors,
      handler: (input) => maintenance.expireDocuments(toRequest(input)),
    }),
    route({
      ...common,
      path: '/v1/internal/maintenance/collect-garbage',
      summary:
        'Removes what nothing refers to from the object store, and rows that are no longer looked at',
      response: CollectedGarbage,
      errors: [...errors, 'storage_unavailable', 'signer_unavailable'],
      handler: (input) => maintenance.collectGarbage(toRequest(input)),
    }),
    route({
      ...common,
      path: '/v1/internal/maintenance/retry-dlq',
      summary: 'Has every entry of the dead-letter queue signed again',
      response: RetriedDeadLetters,
      errors: [...errors, 'storage_unavailable', 'signer_unavailable'],
      handler: (input) => maintenance.retryDeadLetters(toRequest(input)),
    }),
  ];
}

interface Asked {
  readonly caller: InternalCaller;
  readonly query: z.output<typeof MaintenanceQuery>;
  readonly request: RequestInfo;
}

function toRequest({ caller, query, request }: Asked): RunRequest {
  return { ...query, requestedBy: caller.internalKey, requestId: request.serverId };
}
