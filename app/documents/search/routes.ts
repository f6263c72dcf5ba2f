import { linkNextPage } from '../../http/responses/next-page.ts';
import { smallBodyBytes } from '../../http/bodies/json-body.ts';
import { listBytes } from '../../http/responses/page.ts';
import { routeFor } from '../../http/routing/route.ts';
import { mayRead } from '../records/access.ts';
import { DocumentList, DocumentPage } from '../records/schema.ts';
import { SearchDocuments } from './schema.ts';
import type { DocumentSearch } from './search.ts';

const path = '/v1/documents/search';

const route = routeFor<{ readonly documentSearch: DocumentSearch }>();

export const searchRoutes = [
  route({
    method: 'post',
    path,
    operation: 'searchDocuments',
    aliases: [`/api${path}`],
    tag: 'Documents',
    summary:
      'Lists the caller’s own documents that have all keywords of `all` and one of `any`, ' +
      'newest first. For the next page, send the same body to the path in the Link header',
    access: mayRead,
    query: DocumentPage,
    body: SearchDocuments,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: DocumentList,
    maxAnswerBytes: listBytes,
    errors: [],
    audit: { actions: [], note: 'a search changes nothing' },
    handler: async ({ documentSearch }, { request, query, body, reply }) => {
      const page = await documentSearch.find(request, body, query);
      linkNextPage(reply, query, page.cursor);
      return page.documents;
    },
  }),
];
