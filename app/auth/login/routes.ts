import type { ErrorCode } from '../../errors/error-codes.ts';
import { originOf } from '../../http/requests/request.ts';
import { route, type Route } from '../../http/routing/route.ts';
import type { Login } from './login.ts';
import type { SrpExchange } from './srp-exchange.ts';
import { srpParams } from './srp-params.ts';
import {
  Challenge,
  ChallengeRequest,
  LoggedIn,
  LoginStep,
  LoginStepAnswer,
  ProofRequest,
  SrpParams,
} from './schema.ts';

const tag = 'Authentication';
const challengeErrors = [
  'invalid_public_value',
  'user_not_found',
  'rate_limited',
  'cache_unavailable',
] as const satisfies readonly ErrorCode[];
const proofErrors = [
  'invalid_public_value',
  'srp_session_expired',
  'invalid_proof',
  'device_unknown',
  'device_blacklisted',
  'rate_limited',
  'cache_unavailable',
  'signer_unavailable',
] as const satisfies readonly ErrorCode[];

interface LoginRoutesOptions {
  readonly exchange: SrpExchange;
  readonly login: Login;
}

export function createLoginRoutes({ exchange, login }: LoginRoutesOptions): Route[] {
  return [
    route({
      method: 'get',
      path: '/v1/auth/srp-params',
      aliases: ['/api/v1/auth/srp-params'],
      tag,
      summary: 'The SRP group, hash and key derivation',
      access: 'public',
      status: 200,
      response: SrpParams,
      errors: [],
      handler: async ({ reply }) => {
        reply.set('Cache-Control', 'public, max-age=86400');
        return srpParams;
      },
    }),
    route({
      method: 'post',
      path: '/v1/auth/login/challenge',
      aliases: ['/api/v1/auth/login/challenge'],
      tag,
      summary: 'First step of the login: A for salt and B',
      access: 'public',
      body: ChallengeRequest,
      status: 200,
      response: Challenge,
      noStore: true,
      errors: challengeErrors,
      handler: ({ body, request }) => exchange.challenge(body, request.clientAddress),
    }),
    route({
      method: 'post',
      path: '/v1/auth/login/verify',
      aliases: ['/api/v1/auth/login/verify'],
      tag,
      summary: 'Second step of the login: M1 for a token and M2',
      access: 'public',
      body: ProofRequest,
      status: 200,
      response: LoggedIn,
      noStore: true,
      errors: proofErrors,
      handler: ({ body, request }) => login.verify(body, originOf(request)),
    }),
    route({
      method: 'post',
      path: '/v1/auth/login',
      aliases: ['/api/v1/auth/login'],
      tag,
      summary: 'Either step of the login: {email, A} or {sessionId, A, M1}',
      access: 'public',
      body: LoginStep,
      status: 200,
      response: LoginStepAnswer,
      noStore: true,
      errors: [...challengeErrors, ...proofErrors],
      handler: ({ body, request }) =>
        'email' in body
          ? exchange.challenge(body, request.clientAddress)
          : login.verify(body, originOf(request)),
    }),
  ];
}
