import { linkNextPage } from '../../http/answers/next-page.ts';
import { route, type Route } from '../../http/routing/route.ts';
import { mayRead } from '../records/access.ts';
import { DocumentList, DocumentPage } from '../records/schema.ts';
import { SearchDocuments } from './schema.ts';
import type { DocumentSearch } from './search.ts';

const path = '/v1/documents/search';

interface SearchRoutesOptions {
  readonly documentSearch: DocumentSearch;
}

export function createSearchRoutes({ documentSearch }: SearchRoutesOptions): Route[] {
  return [
    route({
      method: 'post',
      path,
      aliases: [`/api${path}`],
      tag: 'Documents',
      summary:
        'The caller’s own documents that have all keywords of `all` and one of `any`, newest first. For the next page send the same body to the linked path',
      access: mayRead,
      query: DocumentPage,
      body: SearchDocuments,
      status: 200,
      response: DocumentList,
      errors: [],
      handler: async ({ caller, query, body, reply }) => {
        const page = await documentSearch.find(caller, body, query);
        linkNextPage(reply, path, query, page.cursor);
        return page.documents;
      },
    }),
  ];
}
