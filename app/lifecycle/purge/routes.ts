import { z } from 'zod';
import { routeFor } from '../../http/routing/route.ts';
import { Flag, Timestamp } from '../../http/bodies/wire.ts';
import type { Purge } from './purge.ts';

const tag = 'Maintenance';
const access = 'internal';

const PurgeQuery = z.strictObject({
  dryRun: Flag.meta({ description: 'Counts what would be removed and removes nothing.' }),
});

const counts = {
  purgedAccounts: z.int(),
  removedAuditTraces: z.int(),
  removedEmails: z.int(),
  dryRun: z.boolean(),
  startedAt: Timestamp,
};

const PurgeReport = z.strictObject({ ...counts, completedAt: Timestamp });

const PurgeStatus = z.strictObject({
  pendingAccounts: z.int(),
  expiredAccounts: z.int(),
  oldestExpiredAt: Timestamp.nullable(),
  lastRun: z
    .strictObject({
      id: z.guid(),
      requestedBy: z.string().meta({ description: 'The name of the internal API key.' }),
      ...counts,
      completedAt: Timestamp.nullable().meta({
        description: 'Null while the run lasts, or if it was interrupted.',
      }),
    })
    .nullable(),
});

const route = routeFor<{ readonly purge: Purge }>();

export const purgeRoutes = [
  route({
    method: 'post',
    path: '/v1/auth/purge/expired',
    tag,
    summary: 'Removes the accounts that were never validated in time',
    access,
    query: PurgeQuery,
    status: 200,
    response: PurgeReport,
    errors: ['audit_backlog_full', 'shutting_down'],
    audit: { actions: ['account.purged'], note: 'for each batch' },
    handler: async ({ purge }, { request, query }) => {
      const { id: _id, requestedBy: _by, ...report } = await purge.run(request, query);
      return report;
    },
  }),
  route({
    method: 'get',
    path: '/v1/auth/purge/status',
    tag,
    summary: 'Returns what a purge would find, and what the last one did',
    access,
    status: 200,
    response: PurgeStatus,
    errors: [],
    handler: ({ purge }) => purge.status(),
  }),
];
