import { parseIfMatch } from '../../http/responses/precondition.ts';
import { linkNextPage } from '../../http/responses/next-page.ts';
import { metadataBodyBytes } from '../../http/bodies/json-body.ts';
import { listBytes } from '../../http/responses/page.ts';
import { routeFor } from '../../http/routing/route.ts';
import { mayRead, mayWrite } from '../records/access.ts';
import {
  AddVersion,
  DocumentId,
  VersionList,
  VersionPage,
  VersionView,
} from '../records/schema.ts';
import type { DocumentVersions } from './versions.ts';

const tag = 'Documents';
const route = routeFor<{ readonly documentVersions: DocumentVersions }>();

export const versionRoutes = [
  route({
    method: 'post',
    path: '/v1/documents/:id/versions',
    operation: 'addVersion',
    aliases: ['/api/v1/documents/:id/versions'],
    tag,
    summary:
      'Makes a completed upload the current version of a document, whose ETag may be sent as ' +
      'If-Match',
    access: mayWrite,
    params: DocumentId,
    body: AddVersion,
    maxBodyBytes: metadataBodyBytes,
    idempotent: true,
    waitsLong: true,
    status: 201,
    response: VersionView,
    errors: [
      'invalid_request',
      'not_found',
      'precondition_failed',
      'stored_file_not_found',
      'duplicate_hash',
      'too_many_versions',
      'quota_exceeded',
      'storage_unavailable',
      'audit_backlog_full',
    ],
    audit: { actions: ['document.version_added'] },
    handler: ({ documentVersions }, { request, params, body, http }) =>
      documentVersions.add(request, params.id, {
        ...body,
        ifMatch: parseIfMatch(http.headers['if-match']),
      }),
  }),
  route({
    method: 'get',
    path: '/v1/documents/:id/versions',
    operation: 'listVersions',
    aliases: ['/api/v1/documents/:id/versions'],
    tag,
    summary: 'Lists the versions of a document, newest first',
    access: mayRead,
    params: DocumentId,
    query: VersionPage,
    status: 200,
    response: VersionList,
    maxAnswerBytes: listBytes,
    errors: ['not_found'],
    handler: async ({ documentVersions }, { request, params, query, reply }) => {
      const { versions, cursor } = await documentVersions.list(request, params.id, query);
      linkNextPage(reply, query, cursor);
      return versions;
    },
  }),
];
