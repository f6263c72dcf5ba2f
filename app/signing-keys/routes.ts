import { AppError } from '../errors/app-error.ts';
import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { PublishedKeys } from './published-keys.ts';
import type { KeyRotation } from './rotation.ts';
import { ActivationQuery, Key, Keys, KeyToChange, KeyToCreate } from './schema.ts';

const tag = 'Keys';
const cacheable = 'public, max-age=30';
const errors = ['not_found', 'audit_backlog_full'] as const;

interface KeyServices {
  readonly publishedKeys: PublishedKeys;
  readonly keyRotation: KeyRotation;
}

const route = routeFor<KeyServices>();

export const keyRoutes = [
  route({
    method: 'get',
    path: '/v1/audit/keys',
    tag: 'Audit',
    summary: 'Lists the public signing keys, oldest generation first',
    access: 'public',
    status: 200,
    response: Keys,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ publishedKeys }, { reply }) => {
      const keys = await publishedKeys.list();
      reply.set('Cache-Control', cacheable);
      return { keys };
    },
  }),
  route({
    method: 'get',
    path: '/v1/internal/keys',
    tag,
    summary: 'Lists the public signing keys, oldest generation first',
    access: 'internal',
    status: 200,
    response: Keys,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ publishedKeys }) => ({ keys: await publishedKeys.list() }),
  }),
  route({
    method: 'post',
    path: '/v1/internal/keys',
    tag,
    summary: 'Creates the next key of a purpose, which signs nothing until it is activated',
    access: 'internal',
    body: KeyToCreate,
    maxBodyBytes: smallBodyBytes,
    status: 201,
    response: Key,
    errors: ['audit_backlog_full', 'signer_unavailable'],
    audit: { actions: ['key.created'] },
    handler: async ({ keyRotation, publishedKeys }, { request, body }) =>
      load(publishedKeys, await keyRotation.create(request, body.purpose)),
  }),
  route({
    method: 'post',
    path: '/v1/internal/keys/:keyId/activate',
    tag,
    summary: 'Activates a key, which then signs, and retires its predecessor for good',
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
    audit: {
      actions: ['key.activated', 'key.retired'],
      note: '`key.retired` for the predecessor',
    },
    handler: async ({ keyRotation, publishedKeys }, { request, params: { keyId }, query }) => {
      await keyRotation.activate(request, keyId, query);
      return load(publishedKeys, keyId);
    },
  }),
  route({
    method: 'post',
    path: '/v1/internal/keys/:keyId/retire',
    tag,
    summary: 'Retires a key that was never activated',
    access: 'internal',
    params: KeyToChange,
    status: 200,
    response: Key,
    errors: [...errors, 'key_in_use'],
    audit: { actions: ['key.retired'] },
    handler: async ({ keyRotation, publishedKeys }, { request, params: { keyId } }) => {
      await keyRotation.retire(request, keyId);
      return load(publishedKeys, keyId);
    },
  }),
];

async function load(publishedKeys: PublishedKeys, keyId: string) {
  const key = await publishedKeys.find(keyId);
  if (key === undefined) throw new AppError('not_found');
  return key;
}
