import { forbidPassword } from '../../accounts/forbid-password.ts';
import type { ErrorCode } from '../../errors/error-codes.ts';
import { smallBodyBytes } from '../../http/bodies/json-body.ts';
import { routeFor } from '../../http/routing/route.ts';
import type { Login } from './login.ts';
import {
  Challenge,
  ChallengeRequest,
  LoggedIn,
  LoginStep,
  LoginStepAnswer,
  ProofRequest,
  SrpParams,
} from './schema.ts';
import type { SrpExchange } from './srp-exchange.ts';
import { srpParams } from './srp-params.ts';

const tag = 'Login';
const challengeErrors = [
  'password_forbidden',
  'invalid_public_value',
  'user_not_found',
  'rate_limited',
  'cache_unavailable',
  'signer_unavailable',
] as const satisfies readonly ErrorCode[];
const proofErrors = [
  'password_forbidden',
  'invalid_public_value',
  'srp_session_expired',
  'invalid_proof',
  'device_unknown',
  'device_blacklisted',
  'rate_limited',
  'cache_unavailable',
  'signer_unavailable',
] as const satisfies readonly ErrorCode[];

const route = routeFor<{ readonly exchange: SrpExchange; readonly login: Login }>();

export const loginRoutes = [
  route({
    method: 'get',
    path: '/v1/auth/srp-params',
    operation: 'getSrpParameters',
    aliases: ['/api/v1/auth/srp-params'],
    tag,
    summary: 'Returns the SRP group, hash and key derivation',
    access: 'public',
    status: 200,
    response: SrpParams,
    errors: [],
    handler: async (_services, { reply }) => {
      reply.set('Cache-Control', 'public, max-age=86400');
      return srpParams;
    },
  }),
  route({
    method: 'post',
    path: '/v1/auth/login/challenge',
    operation: 'beginLogin',
    aliases: ['/api/v1/auth/login/challenge'],
    tag,
    summary: 'Begins a login: takes A and returns the salt and B',
    access: 'public',
    guardBody: forbidPassword,
    body: ChallengeRequest,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: Challenge,
    noStore: true,
    errors: challengeErrors,
    audit: {
      actions: [],
      note: 'the SRP session that it begins is in the cache and expires by itself',
    },
    handler: ({ exchange }, { request, body }) => exchange.challenge(request, body),
  }),
  route({
    method: 'post',
    path: '/v1/auth/login/verify',
    operation: 'completeLogin',
    aliases: ['/api/v1/auth/login/verify'],
    tag,
    summary: 'Completes a login: takes M1 and returns tokens and M2',
    access: 'public',
    guardBody: forbidPassword,
    body: ProofRequest,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: LoggedIn,
    noStore: true,
    errors: proofErrors,
    audit: { actions: ['auth.login', 'auth.login_failed'] },
    handler: ({ login }, { request, body }) => login.verify(request, body),
  }),
  route({
    method: 'post',
    path: '/v1/auth/login',
    operation: 'performLoginStep',
    aliases: ['/api/v1/auth/login'],
    tag,
    summary: 'Performs either step of a login: {email, A} or {sessionId, A, M1}',
    access: 'public',
    guardBody: forbidPassword,
    body: LoginStep,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: LoginStepAnswer,
    noStore: true,
    errors: [...challengeErrors, ...proofErrors],
    audit: { actions: ['auth.login', 'auth.login_failed'] },
    handler: ({ exchange, login }, { request, body }) =>
      'email' in body ? exchange.challenge(request, body) : login.verify(request, body),
  }),
];
