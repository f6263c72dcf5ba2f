import { rolesFor } from '../../accounts/reach.ts';
import { smallBodyBytes } from '../../http/bodies/json-body.ts';
import { listBytes } from '../../http/responses/page.ts';
import { routeFor } from '../../http/routing/route.ts';
import type { Dlq } from './dlq.ts';
import {
  AbandonedEntry,
  AbandonQuery,
  Alerts,
  DeadEntryId,
  NoBody,
  RetriedBatch,
  RetriedEntry,
  RetryManyQuery,
  RetryQuery,
  Stats,
} from './schema.ts';

const common = {
  tag: 'Operation',
  access: { roles: rolesFor('operation'), orInternal: true },
  status: 200,
} as const;

const route = routeFor<{ readonly dlq: Dlq }>();

export const dlqRoutes = [
  route({
    ...common,
    method: 'get',
    path: '/v1/audit/proof/dlq/stats',
    operation: 'getDeadLetterStatistics',
    summary: 'Returns how many entries could not be sealed, and why',
    response: Stats,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: ({ dlq }, { request }) => dlq.stats(request),
  }),
  route({
    ...common,
    method: 'get',
    path: '/v1/audit/proof/dlq/alerts',
    operation: 'listAlerts',
    summary: 'Lists the alerts whose thresholds are reached now',
    response: Alerts,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ dlq }, { request }) => ({ alerts: await dlq.alerts(request) }),
  }),
  route({
    ...common,
    method: 'post',
    path: '/v1/audit/proof/dlq/retry',
    operation: 'retryDeadLetters',
    summary: 'Tries to sign dead entries again, those with the fewest attempts first',
    query: RetryManyQuery,
    response: RetriedBatch,
    errors: ['signer_unavailable', 'storage_unavailable', 'audit_backlog_full'],
    audit: { actions: ['audit.retried'], note: 'one for each retried entry' },
    handler: ({ dlq }, { request, query }) => dlq.retryMany(request, query.batchSize),
  }),
  route({
    ...common,
    method: 'post',
    path: '/v1/audit/proof/dlq/:id/retry',
    operation: 'retryDeadLetter',
    summary: 'Tries to sign a dead entry again; does nothing if the entry was recovered before',
    params: DeadEntryId,
    query: RetryQuery,
    response: RetriedEntry,
    errors: [
      'not_found',
      'entry_not_dead',
      'retry_in_progress',
      'signer_unavailable',
      'storage_unavailable',
      'audit_backlog_full',
    ],
    audit: { actions: ['audit.retried'] },
    handler: ({ dlq }, { request, params, query }) => dlq.retry(request, params.id, query.by),
  }),
  route({
    ...common,
    method: 'post',
    path: '/v1/audit/proof/dlq/:id/abandon',
    operation: 'abandonDeadLetter',
    summary: 'Abandons a dead entry; a signed tombstone takes its place',
    params: DeadEntryId,
    query: AbandonQuery,
    body: NoBody,
    maxBodyBytes: smallBodyBytes,
    isBodyOptional: true,
    response: AbandonedEntry,
    errors: ['not_found', 'entry_not_dead', 'retry_in_progress', 'audit_backlog_full'],
    audit: { actions: ['audit.abandoned'] },
    handler: async ({ dlq }, { request, params, query }) => {
      const abandoned = await dlq.abandon(request, params.id, query);
      return { ...abandoned, status: 'UNRECOVERABLE' as const };
    },
  }),
];
