import { linkNextPage } from '../../http/responses/next-page.ts';
import { listBytes } from '../../http/responses/page.ts';
import { routeFor } from '../../http/routing/route.ts';
import type { Entries } from './entries.ts';
import { EntryList, EntryQuery } from './schema.ts';

const path = '/v1/audit/entries';

const route = routeFor<{ readonly entries: Entries }>();

export const entryRoutes = [
  route({
    method: 'get',
    path,
    operation: 'listAuditEntries',
    tag: 'Proofs',
    summary: 'Lists the audit entries of the caller, or of everyone for auditors; newest first',
    access: { scopes: ['audit:read'] },
    query: EntryQuery,
    status: 200,
    response: EntryList,
    maxAnswerBytes: listBytes,
    errors: ['entry_archived'],
    handler: async ({ entries }, { request, query, reply }) => {
      const { cursor, ...page } = await entries.list(request, query);
      linkNextPage(reply, query, cursor);
      return page;
    },
  }),
];
