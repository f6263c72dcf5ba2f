import { route, type Route } from '../http/route.ts';
import type { Entries } from './entries.ts';
import { EntryList, EntryQuery } from './entry-schema.ts';

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
        if (page.cursor !== undefined) {
          reply.set('Link', `<${linkTo({ ...query, cursor: page.cursor })}>; rel="next"`);
        }
        return page.entries;
      },
    }),
  ];
}

/** The same question, from another place on. */
function linkTo(query: Readonly<Record<string, string | number | Date | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return `${path}?${parameters.toString()}`;
}
