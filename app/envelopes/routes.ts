import { route, type Route } from '../http/route.ts';
import { CreatedEnvelope, CreateMasterEnvelope, MasterEnvelope } from './schema.ts';
import type { Envelopes } from './service.ts';

const tag = 'Key envelopes';
const access = { scopes: ['keys:manage'] };
const path = '/v1/crypto/keys/master-envelope';

export function createEnvelopeRoutes({ envelopes }: { readonly envelopes: Envelopes }): Route[] {
  return [
    route({
      method: 'post',
      path,
      tag,
      summary: 'Stores the master key, wrapped by the client',
      access,
      body: CreateMasterEnvelope,
      status: 201,
      response: CreatedEnvelope,
      noStore: true,
      errors: ['invalid_key_length', 'envelope_exists', 'audit_backlog_full'],
      handler: ({ caller, body, request }) =>
        envelopes.createMaster(caller, body.encryptedEnvelope, request.serverId),
    }),
    route({
      method: 'get',
      path,
      tag,
      summary: 'The wrapped master key',
      access,
      status: 200,
      response: MasterEnvelope,
      noStore: true,
      errors: ['not_found'],
      handler: ({ caller }) => envelopes.getMaster(caller),
    }),
  ];
}
