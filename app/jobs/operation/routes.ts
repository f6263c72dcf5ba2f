import { rolesFor } from '../../accounts/reach.ts';
import { listBytes } from '../../http/responses/page.ts';
import { routeFor } from '../../http/routing/route.ts';
import type { JobOperation } from './operation.ts';
import {
  FailedJobs,
  FailedQuery,
  JobStats,
  PurgeableJobs,
  PurgeableQuery,
  Purged,
  PurgeQuery,
} from './schema.ts';

const common = { tag: 'Jobs', status: 200 } as const;
const access = { roles: rolesFor('operation') } as const;

const route = routeFor<{ readonly jobOperation: JobOperation }>();

export const jobOperationRoutes = [
  route({
    ...common,
    method: 'get',
    path: '/v1/jobs/failed',
    operation: 'listFailedJobs',
    summary: 'Lists failed jobs of the caller, or for operators of all users in their reach',
    access: { scopes: ['jobs:submit'] },
    query: FailedQuery,
    response: FailedJobs,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: ({ jobOperation }, { request, query }) => jobOperation.failed(request, query),
  }),
  route({
    ...common,
    method: 'get',
    path: '/v1/jobs/stats',
    operation: 'getJobStatistics',
    summary: 'Counts the jobs of all users by status',
    access,
    response: JobStats,
    errors: [],
    handler: ({ jobOperation }, { request }) => jobOperation.stats(request),
  }),
  route({
    ...common,
    method: 'get',
    path: '/v1/jobs/purgeable',
    operation: 'listPurgeableJobs',
    summary: 'Lists the jobs that a purge would remove',
    access,
    query: PurgeableQuery,
    response: PurgeableJobs,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: ({ jobOperation }, { request, query }) => jobOperation.purgeable(request, query),
  }),
  route({
    ...common,
    method: 'delete',
    path: '/v1/jobs/purge',
    operation: 'purgeJobs',
    summary: 'Removes jobs that have long been over, and entries of the queue without a use',
    access,
    query: PurgeQuery,
    waitsLong: true,
    response: Purged,
    maxAnswerBytes: listBytes,
    errors: ['queue_unavailable', 'audit_backlog_full'],
    audit: { actions: ['jobs.purged'], note: 'for each batch' },
    handler: ({ jobOperation }, { request, query }) => jobOperation.purge(request, query),
  }),
];
