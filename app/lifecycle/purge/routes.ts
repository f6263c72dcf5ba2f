import { z } from 'zod';
import { routeFor } from '../../http/routing/route.ts';
import { Flag, Timestamp } from '../../http/bodies/wire.ts';
import type { Purge } from './purge.ts';

const tag = 'Operation';
const access = 'internal';

const PurgeQuery = z.strictObject({
  dryRun: Flag.meta({ description: 'Counts what would be removed and removes nothing.' }),
});

const counts = {
  purgedAccounts: z.int().min(0).describe('Accounts that were removed.'),
  removedAuditTraces: z.int().min(0).describe('Audit entries whose text was erased.'),
  removedEmails: z.int().min(0).describe('Unsent e-mails that were removed.'),
  dryRun: z.boolean().describe('Whether the run only counted.'),
  startedAt: Timestamp.describe('When the run began.'),
};

const PurgeReport = z
  .strictObject({ ...counts, completedAt: Timestamp.describe('When the run ended.') })
  .meta({ id: 'PurgeReport' });

const PurgeRun = z
  .strictObject({
    id: z.guid().describe('Id of the run.'),
    requestedBy: z.string().describe('The name of the internal API key.'),
    ...counts,
    completedAt: Timestamp.nullable().describe(
      'When the run ended; null while it lasts, or if it was interrupted.',
    ),
  })
  .meta({ id: 'PurgeRun' });

const PurgeStatus = z
  .strictObject({
    pendingAccounts: z.int().min(0).describe('Accounts that wait for their validation.'),
    expiredAccounts: z.int().min(0).describe('Accounts that the next run would remove.'),
    oldestExpiredAt: Timestamp.nullable().describe('When the first of them expired.'),
    lastRun: PurgeRun.nullable().describe('The last run; null if there was none.'),
  })
  .meta({ id: 'PurgeStatus' });

const route = routeFor<{ readonly purge: Purge }>();

export const purgeRoutes = [
  route({
    method: 'post',
    path: '/v1/auth/purge/expired',
    operation: 'purgeAccounts',
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
    operation: 'getPurgeStatus',
    tag,
    summary: 'Returns what a purge would find, and what the last one did',
    access,
    status: 200,
    response: PurgeStatus,
    errors: [],
    handler: ({ purge }) => purge.status(),
  }),
];
