import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { routeFor } from '../http/routing/route.ts';
import type { Mfa } from './mfa.ts';
import {
  MfaCode,
  MfaDisabled,
  MfaEnabled,
  MfaSetup,
  MfaSetupQuery,
  MfaStatus,
  RecoveryCodes,
} from './schema.ts';

const tag = 'Login';
const access = { scopes: ['mfa:manage'] } as const;
const proven = { ...access, reauth: true } as const;
const unavailable = ['access_denied', 'identity_provider_unavailable'] as const;
const changeErrors = [...unavailable, 'busy', 'not_found', 'audit_backlog_full'] as const;

/** Returns the path of a route and its aliases, which are those of `/v1/auth/reauth`. */
function at(path: string) {
  return { path: `/v1${path}`, aliases: [path, `/api/v1${path}`] } as const;
}

const route = routeFor<{ readonly mfa: Mfa }>();

export const mfaRoutes = [
  route({
    method: 'get',
    ...at('/user/mfa/status'),
    operation: 'getMfaStatus',
    tag,
    summary: 'Returns whether MFA is enabled',
    access,
    status: 200,
    response: MfaStatus,
    noStore: true,
    errors: unavailable,
    handler: ({ mfa }, { request }) => mfa.status(request),
  }),
  route({
    method: 'post',
    ...at('/user/mfa/totp/init'),
    operation: 'startMfaSetup',
    tag,
    summary: 'Begins to set MFA up; returns a secret that is not in use until it is verified',
    access,
    query: MfaSetupQuery,
    status: 200,
    response: MfaSetup,
    noStore: true,
    errors: [...changeErrors, 'mfa_already_enabled', 'signer_unavailable'],
    audit: {
      actions: ['mfa.started', 'mfa.enabled', 'mfa.disabled', 'mfa.codes_regenerated'],
      note: 'and what an earlier request changed and did not record',
    },
    handler: ({ mfa }, { request, query }) => mfa.start(request, query),
  }),
  route({
    method: 'post',
    ...at('/user/mfa/totp/verify'),
    operation: 'enableMfa',
    tag,
    summary: 'Enables MFA with the first code of the authenticator; returns the recovery codes',
    access,
    body: MfaCode,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: MfaEnabled,
    noStore: true,
    errors: [
      ...changeErrors,
      'invalid_code',
      'mfa_already_enabled',
      'mfa_not_pending',
      'mfa_expired',
      'rate_limited',
      'signer_unavailable',
    ],
    audit: { actions: ['mfa.enabled', 'mfa.failed'] },
    handler: ({ mfa }, { request, body }) => mfa.confirm(request, body),
  }),
  route({
    method: 'post',
    ...at('/user/mfa/disable'),
    operation: 'disableMfa',
    tag,
    summary: 'Disables MFA: removes one-time codes and recovery codes',
    access: proven,
    status: 200,
    response: MfaDisabled,
    errors: changeErrors,
    audit: { actions: ['mfa.disabled'] },
    handler: ({ mfa }, { request }) => mfa.disable(request),
  }),
  route({
    method: 'post',
    ...at('/user/mfa/recovery/regenerate'),
    operation: 'replaceRecoveryCodes',
    tag,
    summary: 'Replaces the recovery codes; those before are void',
    access: proven,
    status: 200,
    response: RecoveryCodes,
    noStore: true,
    errors: [...changeErrors, 'mfa_not_enabled'],
    audit: { actions: ['mfa.codes_regenerated'] },
    handler: ({ mfa }, { request }) => mfa.regenerate(request),
  }),
];
