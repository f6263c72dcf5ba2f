import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { Generations } from './generations.ts';
import { EncryptionKey, EncryptionKeyList, Escrowed } from './schema.ts';

const common = { tag: 'Operation', access: 'internal' } as const;
const path = '/v1/internal/encryption-keys';

const route = routeFor<{ readonly generations: Generations }>();

export const encryptionKeyRoutes = [
  route({
    ...common,
    method: 'get',
    path,
    operation: 'listEncryptionKeys',
    summary: 'Lists the generations of the encryption key, with their escrows',
    status: 200,
    response: EncryptionKeyList,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ generations }) => ({ keys: await generations.list() }),
  }),
  route({
    ...common,
    method: 'post',
    path,
    operation: 'createEncryptionKey',
    summary: 'Creates the next generation of the encryption key',
    status: 201,
    response: EncryptionKey,
    errors: ['audit_backlog_full', 'signer_unavailable'],
    audit: {
      actions: ['encryption_key.created', 'encryption_key.escrowed'],
      note: '`encryption_key.escrowed` if an offline key is configured',
    },
    handler: ({ generations }, { request }) => generations.create(request),
  }),
  route({
    ...common,
    method: 'post',
    path: `${path}/escrow`,
    operation: 'escrowEncryptionKeys',
    summary: 'Encrypts every encryption key for the offline key, unless that was done',
    status: 200,
    response: Escrowed,
    errors: ['audit_backlog_full', 'escrow_not_configured'],
    audit: { actions: ['encryption_key.escrowed'], note: 'for each key that had no such escrow' },
    handler: async ({ generations }, { request }) => ({
      escrowed: await generations.escrow(request),
    }),
  }),
];
