import { commonKeyword, type GreatestRows } from './greatest-rows.ts';

/** A request for a list or a stream. */
export interface Asked {
  readonly path: string;
  readonly json?: unknown;
  /** The route lists rows of which a user may have any number. */
  readonly isLong?: true;
}

const page = '?limit=1000';

/** The request for every list and stream of the API, by the method and path of its route. */
export const boundedAnswers: Readonly<Record<string, (rows: GreatestRows) => Asked>> = {
  'GET /v1/auth/sessions': () => long(`/v1/auth/sessions${page}`),
  'GET /.well-known/jwks.json': () => ({ path: '/.well-known/jwks.json' }),
  'GET /.well-known/openid-configuration': () => ({ path: '/.well-known/openid-configuration' }),
  'GET /v1/uploads/config': () => ({ path: '/v1/uploads/config' }),
  'GET /v1/documents/shared': () => long(`/v1/documents/shared${page}`),
  'GET /v1/documents/shared/blocked-senders': () => ({
    path: `/v1/documents/shared/blocked-senders${page}`,
  }),
  'GET /v1/documents/:id/shares': ({ documentId }) =>
    long(`/v1/documents/${documentId}/shares${page}`),
  'GET /v1/documents': () => long(`/v1/documents${page}`),
  'GET /v1/documents/:id/proof': ({ documentId }) =>
    long(`/v1/documents/${documentId}/proof${page}`),
  'GET /v1/documents/:id/versions': ({ documentId }) =>
    long(`/v1/documents/${documentId}/versions${page}`),
  'POST /v1/documents/search': () => ({
    ...long(`/v1/documents/search${page}`),
    json: { all: [commonKeyword] },
  }),
  'GET /v1/crypto/keys/replaced': () => ({ path: `/v1/crypto/keys/replaced${page}` }),
  'GET /v1/crypto/keys/devices': () => long(`/v1/crypto/keys/devices${page}`),
  'GET /v1/memory/records': () => long(`/v1/memory/records${page}`),
  'GET /v1/jobs': () => long(`/v1/jobs${page}`),
  'GET /v1/jobs/failed': () => long(`/v1/jobs/failed${page}`),
  'GET /v1/jobs/purgeable': () => long(`/v1/jobs/purgeable${page}`),
  'DELETE /v1/jobs/purge': () => ({ path: '/v1/jobs/purge?dryRun=true' }),
  'GET /v1/audit/restores': () => ({ path: '/v1/audit/restores' }),
  'GET /v1/sync': () => long(`/v1/sync${page}`),
  'GET /v1/sync/:objectId': ({ objectId }) => ({ path: `/v1/sync/${objectId}` }),
  'GET /v1/sync/:objectId/history': ({ objectId }) => long(`/v1/sync/${objectId}/history${page}`),
  'GET /v1/sync/:objectId/export': ({ objectId }) => long(`/v1/sync/${objectId}/export`),
  'POST /v1/audit/proof/verify-batch': ({ entryIds }) => ({
    ...long('/v1/audit/proof/verify-batch'),
    json: { ids: entryIds.slice(0, 1000) },
  }),
  'GET /v1/audit/proof/status': () => long(`/v1/audit/proof/status${page}`),
  'GET /v1/audit/entries': () => long(`/v1/audit/entries${page}`),
  'GET /v1/audit/proof/dlq/stats': () => ({ path: '/v1/audit/proof/dlq/stats' }),
  'GET /v1/audit/proof/dlq/alerts': () => ({ path: '/v1/audit/proof/dlq/alerts' }),
  'GET /v1/audit/keys': () => ({ path: '/v1/audit/keys' }),
  'GET /v1/internal/keys': () => ({ path: '/v1/internal/keys' }),
  'GET /v1/internal/signer': () => ({ path: '/v1/internal/signer' }),
  'GET /v1/internal/maintenance': () => ({ path: '/v1/internal/maintenance' }),
  'GET /v1/internal/encryption-keys': () => ({ path: '/v1/internal/encryption-keys' }),
};

function long(path: string): Asked {
  return { path, isLong: true };
}
