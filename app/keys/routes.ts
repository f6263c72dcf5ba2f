import { AppError } from '../errors/app-error.ts';
import { route, type Route } from '../http/routing/route.ts';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { RequestInfo } from '../http/requests/request.ts';
import type { PublishedKeys } from './published-keys.ts';
import type { KeyActor } from './registration.ts';
import type { KeyRotation } from './rotation.ts';
import { ActivationQuery, Key, Keys, KeyToChange, KeyToCreate } from './schema.ts';

const tag = 'Keys';
const cacheable = 'public, max-age=30';
const errors = ['not_found', 'audit_backlog_full'] as const;

interface KeyRoutesOptions {
  readonly publishedKeys: PublishedKeys;
  readonly keyRotation: KeyRotation;
}

export function createKeyRoutes({ publishedKeys, keyRotation }: KeyRoutesOptions): Route[] {
  async function load(keyId: string) {
    const key = await publishedKeys.find(keyId);
    if (key === undefined) throw new AppError('not_found');
    return key;
  }

  return [
    route({
      method: 'get',
      path: '/v1/audit/keys',
      tag: 'Audit',
      summary: 'The registry of public keys',
      access: 'public',
      status: 200,
      response: Keys,
      errors: [],
      handler: async ({ reply }) => {
        const keys = await publishedKeys.list();
        reply.set('Cache-Control', cacheable);
        return { keys: [...keys] };
      },
    }),
    route({
      method: 'get',
      path: '/v1/internal/keys',
      tag,
      summary: 'The registry of public keys',
      access: 'internal',
      status: 200,
      response: Keys,
      errors: [],
      handler: async () => ({ keys: [...(await publishedKeys.list())] }),
    }),
    route({
      method: 'post',
      path: '/v1/internal/keys',
      tag,
      summary: 'Makes the next key of a purpose; it signs nothing until it is activated',
      access: 'internal',
      body: KeyToCreate,
      status: 201,
      response: Key,
      errors: ['audit_backlog_full', 'signer_unavailable'],
      handler: async ({ caller, body, request }) =>
        load(await keyRotation.create(body.purpose, toActor(caller, request))),
    }),
    route({
      method: 'post',
      path: '/v1/internal/keys/:keyId/activate',
      tag,
      summary: 'Signs with this key from now on, and never again with its predecessor',
      access: 'internal',
      params: KeyToChange,
      query: ActivationQuery,
      status: 200,
      response: Key,
      errors: [
        ...errors,
        'key_retired',
        'key_not_lost',
        'key_not_in_token',
        'key_not_published',
        'signer_unavailable',
      ],
      handler: async ({ caller, params: { keyId }, query, request }) => {
        await keyRotation.activate(keyId, { ...query, ...toActor(caller, request) });
        return load(keyId);
      },
    }),
    route({
      method: 'post',
      path: '/v1/internal/keys/:keyId/retire',
      tag,
      summary: 'Gives up a key that was never activated',
      access: 'internal',
      params: KeyToChange,
      status: 200,
      response: Key,
      errors: [...errors, 'key_in_use'],
      handler: async ({ caller, params: { keyId }, request }) => {
        await keyRotation.retire(keyId, toActor(caller, request));
        return load(keyId);
      },
    }),
  ];
}

function toActor({ internalKey }: InternalCaller, { serverId }: RequestInfo): KeyActor {
  return { requestedBy: internalKey, requestId: serverId };
}
