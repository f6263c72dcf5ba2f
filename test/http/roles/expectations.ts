import { randomBytes, randomUUID } from 'node:crypto';
import type { Role } from '../../../app/accounts/rights.ts';
import { anyEnvelope } from '../../support/accounts/owner.ts';
import { aShare } from '../../support/documents/people.ts';
import { newSharingKey } from '../../support/documents/sharing-keys.ts';
import { bytesOf, fileOf } from '../../support/documents/files.ts';
import type { SendOptions } from '../../support/documents/uploads.ts';
import type { Owner, Resource, RoleCaller } from './scene.ts';

/** The roles that reach what a route shows or changes of another user, beside the owner. */
interface Reach {
  readonly tenant: readonly Role[];
  readonly platform: readonly Role[];
}

const nobody: Reach = { tenant: [], platform: [] };
const readers: Reach = {
  tenant: ['auditor', 'probatio_admin'],
  platform: ['platform_auditor', 'platform_admin'],
};
const operators: Reach = {
  tenant: ['operator', 'probatio_admin'],
  platform: ['platform_operator', 'platform_admin'],
};
const administrators: Reach = { tenant: ['probatio_admin'], platform: ['platform_admin'] };

export interface Expectation {
  /**
   * `named`: the request names a resource, and gets 403 or 404 if it is out of reach. `listed`: it
   * names none, and the response shows no id of an owner out of reach. `refused`: no role may call
   * the route. `anyone`: the route needs no role and shows nothing of users.
   */
  readonly kind: 'named' | 'listed' | 'refused' | 'anyone';
  readonly reach: Reach;
  /** The resource that the first parameter of the path names. */
  readonly resource?: Resource;
  readonly options: (owner: Owner) => SendOptions;
  /** Whether a response to a caller in reach holds a mark of the owner. */
  readonly reveals?: true;
  /** A resource that the request uses up, so that each caller in reach needs another one. */
  readonly usesUp?: 'sealed' | 'job' | 'dead';
}

/** Returns whether a caller's role reaches the owner. */
export function isReached({ reach }: Expectation, caller: RoleCaller, owner: Owner): boolean {
  const isSame = caller.tenant === owner.tenant && reach.tenant.includes(caller.role);
  return isSame || reach.platform.includes(caller.role);
}

type Options = SendOptions | ((owner: Owner) => SendOptions);

const toFunction = (options: Options) => (typeof options === 'function' ? options : () => options);

/** A route that names a resource of an owner, in the path or in X-Device-Id. */
function named(resource: Resource, options: Options = {}, reach = nobody): Expectation {
  return { kind: 'named', reach, resource, options: toFunction(options) };
}

function listed(options: Options = {}, reach = nobody): Expectation {
  return { kind: 'listed', reach, options: toFunction(options) };
}

const refused: Expectation = { ...listed(), kind: 'refused' };
const anyone: Expectation = { ...listed(), kind: 'anyone' };
const ifMatch = { headers: { 'If-Match': '*' } };
const byDevice = ({ ids }: Owner): SendOptions => ({
  headers: { 'X-Device-Id': ids.device, 'X-Schema-Version': '1' },
});
const envelope = () => ({ encryptedEnvelope: anyEnvelope() });

/**
 * States, for every route, which roles of which tenant reach a resource of another user. A new
 * route needs an entry here.
 */
export const expectations: Readonly<Record<string, Expectation>> = {
  'GET /': anyone,
  'GET /health': anyone,
  'GET /health/live': anyone,
  'GET /health/ready': anyone,
  'GET /v1/health/cache': anyone,
  'GET /v1/health/cache/status': anyone,
  'GET /.well-known/jwks.json': anyone,
  'GET /.well-known/openid-configuration': anyone,
  'GET /v1/audit/keys': anyone,
  'POST /v1/auth/register': anyone,
  'POST /v1/auth/validate-email': anyone,
  'GET /v1/auth/srp-params': anyone,
  'POST /v1/auth/login/challenge': anyone,
  'POST /v1/auth/login/verify': anyone,
  'POST /v1/auth/login': anyone,
  'POST /v1/auth/refresh': anyone,

  'POST /v1/auth/logout': listed(),
  'GET /v1/auth/sessions': listed(),
  'DELETE /v1/auth/sessions/:id': named('session'),
  'POST /v1/auth/reauth': listed({ json: { password: 'of the caller' } }),
  'GET /v1/user/mfa/status': listed(),
  'POST /v1/user/mfa/totp/init': listed(),
  'POST /v1/user/mfa/totp/verify': listed({ json: { code: '123456' } }),
  'POST /v1/user/mfa/disable': listed(),
  'POST /v1/user/mfa/recovery/regenerate': listed(),
  'PUT /v1/auth/credentials': listed({ json: {} }),
  'GET /v1/auth/account': listed(),
  'DELETE /v1/auth/account': listed(),

  'GET /v1/usage': listed(),
  'GET /v1/uploads/config': listed(),
  'POST /v1/uploads': listed({ json: fileOf(1) }),
  'GET /v1/uploads/:sessionId': named('upload'),
  'PUT /v1/uploads/:sessionId/parts/:partNumber': named('upload', { bytes: bytesOf(1) }),
  'POST /v1/uploads/:sessionId/complete': named('completed'),
  'DELETE /v1/uploads/:sessionId': named('upload'),

  'POST /v1/documents/share-key': listed({ json: { recipientEmail: 'ada@example.org' } }),
  'POST /v1/jobs': listed({
    json: { type: 'EMAIL_VALIDATION', payload: { email: 'ada@example.org' } },
  }),
  'GET /v1/jobs': listed(),
  'GET /v1/jobs/:jobId': named('job', {}, operators),
  'POST /v1/jobs/:jobId/retry': { ...named('job', {}, operators), usesUp: 'job' },
  'GET /v1/jobs/:jobId/events': named('job', {}, operators),
  'GET /v1/jobs/:jobId/export': named('exported', {}, operators),
  'GET /v1/jobs/failed': { ...listed({}, operators), reveals: true },
  'GET /v1/jobs/stats': listed({}, operators),
  'GET /v1/jobs/purgeable': listed({}, operators),
  'DELETE /v1/jobs/purge': listed({}, operators),
  'GET /v1/audit/restores': listed(),
  'GET /v1/memory/records': listed(),
  'POST /v1/memory/records': listed({
    json: { writer: randomUUID(), number: 1, record: randomBytes(9).toString('base64') },
  }),
  'DELETE /v1/memory/records/:writer': named('memory'),

  'GET /v1/documents/shared': listed(),
  'DELETE /v1/documents/shared/:shareId': named('share'),
  'GET /v1/documents/shared/blocked-senders': listed(),
  'PUT /v1/documents/shared/blocked-senders/:senderId': listed(),
  'DELETE /v1/documents/shared/blocked-senders/:senderId': named('share'),
  'POST /v1/documents/:id/share': named('pending', {
    json: { ...aShare, recipientEmail: 'ada@example.org' },
  }),
  'GET /v1/documents/:id/shares': named('pending'),
  'DELETE /v1/documents/:id/shares/:shareId': named('pending'),
  'POST /v1/documents': listed(({ ids }) => ({
    json: {
      encryptedMetadata: randomBytes(9).toString('base64'),
      keywordDeterministic: [],
      storagePath: ids.file,
    },
  })),
  'GET /v1/documents': listed(),
  'GET /v1/documents/:id': named('sealed'),
  'GET /v1/documents/:id/hash': named('sealed'),
  'DELETE /v1/documents/:id': { ...named('sealed', {}, administrators), usesUp: 'sealed' },
  'POST /v1/documents/:id/certify': named('pending'),
  'GET /v1/documents/:id/proof': named('sealed'),
  'GET /v1/documents/:id/download': named('sealed'),
  'POST /v1/documents/upload': listed(),
  'POST /v1/documents/:id/versions': named('sealed', {
    json: { storagePath: `${randomUUID()}/evidence.bin` },
  }),
  'GET /v1/documents/:id/versions': named('sealed'),
  'PUT /v1/documents/:id/metadata': named('pending', {
    json: { encryptedMetadata: randomBytes(9).toString('base64') },
    ...ifMatch,
  }),
  'POST /v1/documents/search': listed({ json: { any: ['0'.repeat(64)] } }),

  'POST /v1/crypto/keys/master-envelope': listed({ json: envelope() }),
  'GET /v1/crypto/keys/master-envelope': listed(),
  'PUT /v1/crypto/keys/master-envelope': listed({ json: envelope(), ...ifMatch }),
  'POST /v1/crypto/keys/recovery-envelope': listed({ json: envelope() }),
  'GET /v1/crypto/keys/recovery-envelope': listed(),
  'PUT /v1/crypto/keys/recovery-envelope': listed({ json: envelope(), ...ifMatch }),
  'POST /v1/crypto/keys/device-envelope': listed({
    json: { ...envelope(), deviceId: randomUUID() },
  }),
  'GET /v1/crypto/keys/device-envelope/:deviceId': named('device'),
  'GET /v1/crypto/keys/devices': listed(),
  'PUT /v1/crypto/keys/devices/:deviceId': named('device', {
    json: { encryptedInfo: randomBytes(9).toString('base64') },
    ...ifMatch,
  }),
  'DELETE /v1/crypto/keys/devices/:deviceId': named('spareDevice'),
  'PUT /v1/crypto/keys/sharing': listed({ json: newSharingKey(), ...ifMatch }),
  'GET /v1/crypto/keys/sharing': listed(),
  'GET /v1/crypto/keys/replaced': listed(),
  'POST /v1/crypto/keys/replaced/:id/restore': named('replaced'),

  'GET /v1/sync/events': named('object', byDevice),
  'POST /v1/sync': named('object', (owner) => ({
    ...byDevice(owner),
    json: { objectId: owner.ids.object, version: 2, baseVersion: 1, delta: {} },
  })),
  'POST /v1/sync/create': named('object', (owner) => ({
    ...byDevice(owner),
    json: { objectId: randomUUID(), data: {} },
  })),
  'GET /v1/sync': named('object', byDevice),
  'GET /v1/sync/:objectId': named('object', byDevice),
  'GET /v1/sync/:objectId/history': named('object', byDevice),
  'GET /v1/sync/:objectId/export': named('object', byDevice),

  'GET /v1/audit/proof/status': listed(),
  'GET /v1/audit/proof/:id': named('proof', {}, readers),
  'GET /v1/audit/proof/:id/verify': named('proof', {}, readers),
  'POST /v1/audit/proof/verify-batch': {
    ...listed(({ ids }) => ({ json: { ids: [ids.proof] } }), readers),
    reveals: true,
  },
  'POST /v1/audit/proof/verify-external': listed({ json: {} }),
  'GET /v1/audit/entries': { ...listed({}, readers), reveals: true },
  'GET /v1/audit/proof/dlq/stats': {
    ...listed({}, operators),
    reveals: true,
    usesUp: 'dead',
  },
  'GET /v1/audit/proof/dlq/alerts': listed({}, operators),
  'POST /v1/audit/proof/dlq/retry': listed({}, operators),
  'POST /v1/audit/proof/dlq/:id/retry': named('dead', {}, operators),
  'POST /v1/audit/proof/dlq/:id/abandon': { ...named('dead', {}, operators), usesUp: 'dead' },

  'GET /v1/internal/keys': refused,
  'GET /v1/internal/signer': refused,
  'POST /v1/internal/keys': refused,
  'POST /v1/internal/keys/:keyId/activate': refused,
  'POST /v1/internal/keys/:keyId/adopt': refused,
  'POST /v1/internal/keys/:keyId/compromise': refused,
  'POST /v1/internal/keys/:keyId/retire': refused,
  'GET /v1/internal/encryption-keys': refused,
  'POST /v1/internal/encryption-keys': refused,
  'POST /v1/internal/encryption-keys/escrow': refused,
  'GET /v1/internal/marks': refused,
  'POST /v1/auth/purge/expired': refused,
  'GET /v1/auth/purge/status': refused,
  'GET /v1/internal/maintenance': refused,
  'POST /v1/internal/maintenance/drain-outbox': refused,
  'POST /v1/internal/maintenance/purge-jobs': refused,
  'POST /v1/internal/maintenance/verify-log': refused,
  'POST /v1/internal/maintenance/expire-uploads': refused,
  'POST /v1/internal/maintenance/expire-documents': refused,
  'POST /v1/internal/maintenance/collect-garbage': refused,
  'POST /v1/internal/maintenance/retry-dlq': refused,
  'POST /v1/internal/maintenance/reencrypt': refused,
  'POST /v1/internal/maintenance/verify-files': refused,
};
