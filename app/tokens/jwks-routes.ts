import type { Clock } from '../async/clock.ts';
import { AppError } from '../errors/app-error.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { KeyRegistry } from '../signing-keys/registry.ts';
import type { RegisteredKey } from '../proof/registered-key.ts';
import { servesTokens } from './own-keys.ts';
import { Discovery, JsonWebKeySet } from './schema.ts';

const tag = 'Operation';
const cacheable = 'public, max-age=300';

interface IssuerServices {
  readonly issuer: string;
  readonly registry: KeyRegistry;
  readonly clock: Clock;
}

const route = routeFor<IssuerServices>();

/** The routes of the documents by which other services verify the tokens that the vault issues. */
export const issuerRoutes = [
  route({
    method: 'get',
    path: '/.well-known/jwks.json',
    operation: 'getJsonWebKeySet',
    ignoresQuery: true,
    tag,
    summary: 'Returns the public keys that verify access tokens',
    access: 'public',
    status: 200,
    response: JsonWebKeySet,
    maxAnswerBytes: listBytes,
    errors: ['jwks_unavailable'],
    handler: async ({ registry, clock }, { reply }) => {
      const now = clock();
      const keys = (await registry.list()).filter((key) => servesTokens(key, now));
      if (keys.length === 0) throw new AppError('jwks_unavailable');
      reply.set('Cache-Control', cacheable);
      return { keys: keys.map(toJwk) };
    },
  }),
  route({
    method: 'get',
    path: '/.well-known/openid-configuration',
    operation: 'getOpenIdConfiguration',
    ignoresQuery: true,
    tag,
    summary: 'Returns where the public keys are',
    access: 'public',
    status: 200,
    response: Discovery,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ issuer }, { reply }) => {
      reply.set('Cache-Control', cacheable);
      return {
        issuer,
        jwks_uri: `${issuer}/.well-known/jwks.json`,
        response_types_supported: ['none'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      };
    },
  }),
];

function toJwk({ keyId, key }: RegisteredKey) {
  const { n = '', e = '' } = key.export({ format: 'jwk' });
  return { kty: 'RSA' as const, use: 'sig' as const, alg: 'RS256' as const, kid: keyId, n, e };
}
