import { z } from 'zod';
import { route, type Route } from '../../http/routing/route.ts';
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
      completedAt: Timestamp.nullable().meta({ description: 'Null where it was cut off.' }),
    })
    .nullable(),
});

export function createPurgeRoutes({ purge }: { readonly purge: Purge }): Route[] {
  return [
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
      handler: async ({ caller, query, request }) => {
        const {
          id: _id,
          requestedBy: _by,
          ...report
        } = await purge.run({
          dryRun: query.dryRun,
          requestedBy: caller.internalKey,
          requestId: request.serverId,
        });
        return report;
      },
    }),
    route({
      method: 'get',
      path: '/v1/auth/purge/status',
      tag,
      summary: 'What a purge would find, and what the last one did',
      access,
      status: 200,
      response: PurgeStatus,
      errors: [],
      handler: () => purge.status(),
    }),
  ];
}
