import type { ErrorCode } from '../errors/error-codes.ts';
import { parseIfMatch, withETag } from '../http/responses/precondition.ts';
import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { routeFor } from '../http/routing/route.ts';
import type { FreshProofs } from '../sessions/fresh-proof.ts';
import type { Envelopes } from './envelopes.ts';
import { EnvelopeView, MasterKeyForm, RecoveryKeyForm, StoredEnvelope } from './schema.ts';

const tag = 'Keys and devices';
const access = { scopes: ['keys:manage'], orDeveloper: true } as const;
const masterPath = '/v1/crypto/keys/master-envelope';
const recoveryPath = '/v1/crypto/keys/recovery-envelope';

const keyErrors = [
  'invalid_key_length',
  'raw_keys_refused',
  'audit_backlog_full',
] as const satisfies readonly ErrorCode[];
const createErrors = [...keyErrors, 'envelope_exists'] as const;
const replaceErrors = [
  ...keyErrors,
  'not_found',
  'invalid_request',
  'precondition_required',
  'precondition_failed',
  'quota_exceeded',
] as const satisfies readonly ErrorCode[];

const recoveryNote = '`credentials.changed` only where the request brings a recovery verifier';

interface EnvelopeServices {
  readonly envelopes: Envelopes;
  readonly freshProofs: FreshProofs;
}

const route = routeFor<EnvelopeServices>();

export const envelopeRoutes = [
  route({
    method: 'post',
    path: masterPath,
    operation: 'createMasterEnvelope',
    tag,
    summary: 'Stores the master envelope; clients should wrap the master key themselves',
    access,
    body: MasterKeyForm,
    maxBodyBytes: smallBodyBytes,
    status: 201,
    response: StoredEnvelope,
    hasETag: true,
    noStore: true,
    errors: [...createErrors, 'signer_unavailable'],
    audit: { actions: ['envelope.created'] },
    handler: async ({ envelopes, freshProofs }, { request, http, body, reply }) => {
      const proof = await freshProofs.read(request.caller, http.headers);
      const change = { kind: 'MASTER', form: body, proof } as const;
      return withETag(reply, envelopes.create(request, change));
    },
  }),
  route({
    method: 'get',
    path: masterPath,
    operation: 'getMasterEnvelope',
    tag,
    summary: 'Returns the wrapped master key',
    access,
    status: 200,
    response: EnvelopeView,
    hasETag: true,
    noStore: true,
    errors: ['not_found', 'signer_unavailable'],
    handler: ({ envelopes }, { request, reply }) =>
      withETag(reply, envelopes.get(request, 'MASTER')),
  }),
  route({
    method: 'put',
    path: masterPath,
    operation: 'replaceMasterEnvelope',
    tag,
    summary: 'Replaces the envelope of the same master key; keeps the former for 30 days; If-Match',
    access: { ...access, freshProof: 'always' },
    body: MasterKeyForm,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: StoredEnvelope,
    hasETag: true,
    noStore: true,
    errors: [...replaceErrors, 'signer_unavailable'],
    audit: { actions: ['envelope.replaced'] },
    handler: async ({ envelopes, freshProofs }, { request, http, body, reply }) => {
      const ifMatch = parseIfMatch(http.headers['if-match']);
      const proof = await freshProofs.read(request.caller, http.headers);
      const change = { kind: 'MASTER', form: body, proof } as const;
      return withETag(reply, envelopes.replace(request, change, ifMatch));
    },
  }),
  route({
    method: 'post',
    path: recoveryPath,
    operation: 'createRecoveryEnvelope',
    tag,
    summary: 'Stores the master key wrapped under the recovery words',
    access: { ...access, freshProof: 'for a recovery verifier' },
    body: RecoveryKeyForm,
    maxBodyBytes: smallBodyBytes,
    status: 201,
    response: StoredEnvelope,
    hasETag: true,
    noStore: true,
    errors: createErrors,
    audit: { actions: ['envelope.created', 'credentials.changed'], note: recoveryNote },
    handler: async ({ envelopes, freshProofs }, { request, http, body, reply }) => {
      const proof = await freshProofs.read(request.caller, http.headers);
      const change = { kind: 'RECOVERY', ...body, proof } as const;
      return withETag(reply, envelopes.create(request, change));
    },
  }),
  route({
    method: 'get',
    path: recoveryPath,
    operation: 'getRecoveryEnvelope',
    tag,
    summary: 'Returns the master key wrapped under the recovery words, and its keyring',
    access: { ...access, orRecovery: true },
    status: 200,
    response: EnvelopeView,
    hasETag: true,
    noStore: true,
    errors: ['not_found'],
    handler: ({ envelopes }, { request, reply }) =>
      withETag(reply, envelopes.get(request, 'RECOVERY')),
  }),
  route({
    method: 'put',
    path: recoveryPath,
    operation: 'replaceRecoveryEnvelope',
    tag,
    summary:
      'Replaces the recovery envelope; keeps the former for 30 days; ' +
      'a recovery verifier needs X-Reauth-Token; If-Match',
    access: { ...access, freshProof: 'always' },
    body: RecoveryKeyForm,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: StoredEnvelope,
    hasETag: true,
    noStore: true,
    errors: replaceErrors,
    audit: { actions: ['envelope.replaced', 'credentials.changed'], note: recoveryNote },
    handler: async ({ envelopes, freshProofs }, { request, http, body, reply }) => {
      const ifMatch = parseIfMatch(http.headers['if-match']);
      const proof = await freshProofs.read(request.caller, http.headers);
      const change = { kind: 'RECOVERY', ...body, proof } as const;
      return withETag(reply, envelopes.replace(request, change, ifMatch));
    },
  }),
];
