import type { z } from 'zod';
import type { ErrorCode } from '../errors/error-codes.ts';
import { parseIfMatch, withETag } from '../http/responses/precondition.ts';
import type { RequestInfo, ServiceRequest } from '../http/requests/request.ts';
import { routeFor } from '../http/routing/route.ts';
import type { ReauthTokens } from '../tokens/reauth-token.ts';
import type { Envelopes } from './envelopes.ts';
import { EnvelopeView, MasterKeyForm, RecoveryKeyForm, StoredEnvelope } from './schema.ts';

const tag = 'Key envelopes';
const access = { scopes: ['keys:manage'], orDeveloper: true } as const;
const masterPath = '/v1/crypto/keys/master-envelope';
const recoveryPath = '/v1/crypto/keys/recovery-envelope';

const keyErrors = [
  'invalid_key_length',
  'raw_keys_refused',
  'audit_backlog_full',
] as const satisfies readonly ErrorCode[];
const createErrors = [...keyErrors, 'envelope_exists'] as const;
const reauthErrors = ['reauth_required', 'reauth_expired', 'reauth_invalid'] as const;
const replaceErrors = [
  ...keyErrors,
  'not_found',
  'invalid_request',
  'precondition_required',
  'precondition_failed',
] as const satisfies readonly ErrorCode[];

const recoveryNote = '`credentials.changed` only where the request brings a recovery verifier';

interface EnvelopeServices {
  readonly envelopes: Envelopes;
  readonly reauthTokens: ReauthTokens;
}

interface RecoveryInput {
  readonly request: ServiceRequest;
  readonly http: RequestInfo;
  readonly body: z.output<typeof RecoveryKeyForm>;
}

/**
 * Throws as `ReauthTokens.verify` does for a change of credentials without a valid reauthentication
 * token: a stolen access token alone must not suffice to set credentials.
 */
async function assertProven(
  { reauthTokens }: EnvelopeServices,
  { request, http, body }: RecoveryInput,
): Promise<void> {
  if (body.credential === undefined) return;
  await reauthTokens.verify(http.headers['x-reauth-token']?.toString(), request.caller);
}

/**
 * Resolves with whether the request has the header X-Reauth-Token. Throws as `assertProven` does if
 * the token is not valid for the credential in the request.
 */
async function isProven(services: EnvelopeServices, input: RecoveryInput): Promise<boolean> {
  if (input.http.headers['x-reauth-token'] === undefined) return false;
  await assertProven(services, input);
  return true;
}

const route = routeFor<EnvelopeServices>();

export const envelopeRoutes = [
  route({
    method: 'post',
    path: masterPath,
    tag,
    summary: 'Stores the master envelope; clients should wrap the master key themselves',
    access,
    body: MasterKeyForm,
    status: 201,
    response: StoredEnvelope,
    hasETag: true,
    noStore: true,
    errors: createErrors,
    audit: { actions: ['envelope.created'] },
    handler: async ({ envelopes }, { request, body, reply }) => {
      const change = { kind: 'MASTER', form: body } as const;
      return withETag(reply, envelopes.create(request, change));
    },
  }),
  route({
    method: 'get',
    path: masterPath,
    tag,
    summary: 'Returns the wrapped master key',
    access,
    status: 200,
    response: EnvelopeView,
    hasETag: true,
    noStore: true,
    errors: ['not_found'],
    handler: ({ envelopes }, { request, reply }) =>
      withETag(reply, envelopes.get(request, 'MASTER')),
  }),
  route({
    method: 'put',
    path: masterPath,
    tag,
    summary: 'Replaces the envelope of the same master key; If-Match',
    access,
    body: MasterKeyForm,
    status: 200,
    response: StoredEnvelope,
    hasETag: true,
    noStore: true,
    errors: replaceErrors,
    audit: { actions: ['envelope.replaced'] },
    handler: async ({ envelopes }, { request, http, body, reply }) => {
      const ifMatch = parseIfMatch(http.headers['if-match']);
      const change = { kind: 'MASTER', form: body } as const;
      return withETag(reply, envelopes.replace(request, change, ifMatch));
    },
  }),
  route({
    method: 'post',
    path: recoveryPath,
    tag,
    summary:
      'Stores the master key wrapped under the recovery words; ' +
      'a recovery verifier needs X-Reauth-Token or a fresh login',
    access,
    body: RecoveryKeyForm,
    status: 201,
    response: StoredEnvelope,
    hasETag: true,
    noStore: true,
    errors: [...createErrors, ...reauthErrors],
    audit: { actions: ['envelope.created', 'credentials.changed'], note: recoveryNote },
    handler: async (services, input) => {
      const { request, body, reply } = input;
      const proven = await isProven(services, input);
      const change = { kind: 'RECOVERY', ...body, isProven: proven } as const;
      return withETag(reply, services.envelopes.create(request, change));
    },
  }),
  route({
    method: 'get',
    path: recoveryPath,
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
    tag,
    summary: 'Replaces the recovery envelope; If-Match; a recovery verifier needs X-Reauth-Token',
    access,
    body: RecoveryKeyForm,
    status: 200,
    response: StoredEnvelope,
    hasETag: true,
    noStore: true,
    errors: [...replaceErrors, ...reauthErrors],
    audit: { actions: ['envelope.replaced', 'credentials.changed'], note: recoveryNote },
    handler: async (services, input) => {
      const { request, http, body, reply } = input;
      const ifMatch = parseIfMatch(http.headers['if-match']);
      await assertProven(services, input);
      const change = { kind: 'RECOVERY', ...body } as const;
      return withETag(reply, services.envelopes.replace(request, change, ifMatch));
    },
  }),
];
