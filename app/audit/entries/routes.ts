import { linkNextPage } from '../../http/answers/next-page.ts';
import { route, type Route } from '../../http/routing/route.ts';
import type { Entries } from './entries.ts';
import { EntryList, EntryQuery } from './schema.ts';

const path = '/v1/audit/entries';

interface EntryRoutesOptions {
  readonly entries: Entries;
}

export function createEntryRoutes({ entries }: EntryRoutesOptions): Route[] {
  return [
    route({
      method: 'get',
      path,
      tag: 'Audit',
      summary: 'The audit entries of the caller, or of everyone for auditors; newest first',
      access: { scopes: ['audit:read'] },
      query: EntryQuery,
      status: 200,
      response: EntryList,
      errors: [],
      handler: async ({ caller, query, reply }) => {
        const page = await entries.list(caller, query);
        linkNextPage(reply, path, query, page.cursor);
        return page.entries;
      },
    }),
  ];
}
