import type { Caller, InternalCaller } from '../../http/requests/caller.ts';
import type { RequestInfo } from '../../http/requests/request.ts';
import { route, type Route } from '../../http/routing/route.ts';
import type { Dlq } from './dlq.ts';
import type { Operator } from './retry.ts';
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
  tag: 'Dead letters',
  access: { roles: ['operator', 'probatio_admin'], orInternal: true },
  status: 200,
} as const;

export function createDlqRoutes({ dlq }: { readonly dlq: Dlq }): Route[] {
  return [
    route({
      ...common,
      method: 'get',
      path: '/v1/audit/proof/dlq/stats',
      summary: 'How many entries could not be sealed, and why',
      response: Stats,
      errors: [],
      handler: () => dlq.stats(),
    }),
    route({
      ...common,
      method: 'get',
      path: '/v1/audit/proof/dlq/alerts',
      summary: 'What an operator ought to look at now',
      response: Alerts,
      errors: [],
      handler: async () => ({ alerts: await dlq.alerts() }),
    }),
    route({
      ...common,
      method: 'post',
      path: '/v1/audit/proof/dlq/retry',
      summary: 'Has the entries that were tried least signed again',
      query: RetryManyQuery,
      response: RetriedBatch,
      errors: ['signer_unavailable', 'storage_unavailable', 'audit_backlog_full'],
      handler: ({ caller, query, request }) =>
        dlq.retryMany(query.batchSize, toOperator(caller, request, undefined)),
    }),
    route({
      ...common,
      method: 'post',
      path: '/v1/audit/proof/dlq/:id/retry',
      summary: 'Has a dead entry signed again; one that was recovered already stays so',
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
      handler: ({ caller, params, query, request }) =>
        dlq.retry(params.id, toOperator(caller, request, query.by)),
    }),
    route({
      ...common,
      method: 'post',
      path: '/v1/audit/proof/dlq/:id/abandon',
      summary: 'Gives a dead entry up; a signed tombstone takes its place',
      params: DeadEntryId,
      query: AbandonQuery,
      body: NoBody,
      isBodyOptional: true,
      response: AbandonedEntry,
      errors: ['not_found', 'entry_not_dead', 'retry_in_progress', 'audit_backlog_full'],
      handler: async ({ caller, params, query, request }) => {
        const operator = toOperator(caller, request, query.by);
        const abandoned = await dlq.abandon(params.id, query.reason ?? null, operator);
        return { ...abandoned, status: 'UNRECOVERABLE' as const };
      },
    }),
  ];
}

function toOperator(
  caller: Caller | InternalCaller,
  { serverId }: RequestInfo,
  by: string | undefined,
): Operator {
  const actor =
    'internalKey' in caller
      ? ({ type: 'system', id: caller.internalKey } as const)
      : ({ type: 'user', id: caller.userId } as const);
  return { actor, requestId: serverId, by: by ?? null };
}
