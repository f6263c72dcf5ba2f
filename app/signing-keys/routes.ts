import { AppError } from '../errors/app-error.ts';
import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { KeyAdoption } from './adoption.ts';
import type { KeyCompromise } from './compromise.ts';
import type { ReadHeldKeys } from './held-keys.ts';
import type { PublishedKeys } from './published-keys.ts';
import type { KeyRotation } from './rotation.ts';
import {
  ActivationQuery,
  CompromiseOfKey,
  HeldKeys,
  Key,
  Keys,
  KeyToChange,
  KeyToCreate,
} from './schema.ts';

const tag = 'Operation';
const cacheable = 'public, max-age=30';
const errors = ['not_found', 'audit_backlog_full'] as const;

interface KeyServices {
  readonly publishedKeys: PublishedKeys;
  readonly keyRotation: KeyRotation;
  readonly keyAdoption: KeyAdoption;
  readonly keyCompromise: KeyCompromise;
  readonly heldKeys: ReadHeldKeys;
}

const route = routeFor<KeyServices>();

export const keyRoutes = [
  route({
    method: 'get',
    path: '/v1/audit/keys',
    operation: 'listSigningKeys',
    tag: 'Proofs',
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
    operation: 'listSigningKeysInternally',
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
    method: 'get',
    path: '/v1/internal/signer',
    operation: 'getSigner',
    tag,
    summary: 'Returns the state of the token behind the process that is asked, and its keys',
    access: 'internal',
    status: 200,
    response: HeldKeys,
    maxAnswerBytes: listBytes,
    noStore: true,
    // Every process serves it, workers too, since each has a signer of its own.
    isProbe: true,
    errors: [],
    handler: ({ heldKeys }) => heldKeys(),
  }),
  route({
    method: 'post',
    path: '/v1/internal/keys',
    operation: 'createSigningKey',
    tag,
    summary: 'Creates the next key of a purpose, which signs nothing until it is activated',
    access: 'internal',
    body: KeyToCreate,
    maxBodyBytes: smallBodyBytes,
    status: 201,
    response: Key,
    errors: ['audit_backlog_full', 'key_generation_differs', 'signer_unavailable'],
    audit: { actions: ['key.created'] },
    handler: async ({ keyRotation, publishedKeys }, { request, body }) =>
      load(publishedKeys, await keyRotation.create(request, body)),
  }),
  route({
    method: 'post',
    path: '/v1/internal/keys/:keyId/activate',
    operation: 'activateSigningKey',
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
    path: '/v1/internal/keys/:keyId/adopt',
    operation: 'adoptSigningKey',
    tag,
    summary: 'Makes an imported key usable, which is called imported for ever',
    access: 'internal',
    params: KeyToChange,
    status: 200,
    response: Key,
    errors: [...errors, 'key_label_taken', 'signer_unavailable'],
    audit: { actions: ['key.created'] },
    handler: async ({ keyAdoption, publishedKeys }, { request, params: { keyId } }) => {
      await keyAdoption.adopt(request, keyId);
      return load(publishedKeys, keyId);
    },
  }),
  route({
    method: 'post',
    path: '/v1/internal/keys/:keyId/compromise',
    operation: 'markKeyCompromised',
    tag,
    summary: 'Records that somebody else may have a key, which is never trusted again',
    access: 'internal',
    params: KeyToChange,
    body: CompromiseOfKey,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: Key,
    errors: [
      'not_found',
      'key_compromised',
      'successor_required',
      'successor_not_ready',
      'signer_unavailable',
    ],
    audit: {
      actions: ['key.compromised', 'key.activated'],
      note: '`key.activated` for the successor of an active key',
    },
    handler: async ({ keyCompromise, publishedKeys }, { request, params: { keyId }, body }) => {
      await keyCompromise.compromise(request, keyId, { successor: undefined, ...body });
      return load(publishedKeys, keyId);
    },
  }),
  route({
    method: 'post',
    path: '/v1/internal/keys/:keyId/retire',
    operation: 'retireSigningKey',
    tag,
    summary: 'Retires a key that was never activated',
    access: 'internal',
    params: KeyToChange,
    status: 200,
    response: Key,
    errors: [...errors, 'key_in_use', 'signer_unavailable'],
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
