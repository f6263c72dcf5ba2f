import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { route, type Route } from '../http/route.ts';
import type { KeyRegistry } from '../keys/registry.ts';
import type { Proofs } from './proofs.ts';
import {
  EntryId,
  EntryVerification,
  ExternalProof,
  ExternalVerification,
  Proof,
  PublicKeys,
} from './schema.ts';

const tag = 'Audit';
const access = { scopes: ['audit:read'] };

interface AuditRoutesOptions {
  readonly proofs: Proofs;
  readonly registry: KeyRegistry;
  readonly clock: Clock;
}

export function createAuditRoutes({ proofs, registry, clock }: AuditRoutesOptions): Route[] {
  return [
    route({
      method: 'get',
      path: '/v1/audit/proof/:id',
      tag,
      summary: 'The proof of an audit entry',
      access,
      params: EntryId,
      status: 200,
      response: Proof,
      errors: ['not_found', 'proof_not_ready', 'entry_erased'],
      handler: ({ caller, params }) => proofs.get(caller, params.id),
    }),
    route({
      method: 'get',
      path: '/v1/audit/proof/:id/verify',
      tag,
      summary: 'Verifies an audit entry now',
      access,
      params: EntryId,
      status: 200,
      response: EntryVerification,
      errors: ['not_found', 'proof_not_ready', 'entry_erased'],
      handler: async ({ caller, params }) => ({
        entryId: params.id,
        ...(await proofs.verify(caller, params.id)),
        verifiedAt: clock(),
      }),
    }),
    route({
      method: 'post',
      path: '/v1/audit/proof/verify-external',
      tag,
      summary: 'Verifies a proof that someone holds',
      access,
      body: ExternalProof,
      status: 200,
      response: ExternalVerification,
      errors: [],
      handler: async ({ body }) => ({
        ...(await proofs.verifyExternal(body.proof)),
        verifiedAt: clock(),
      }),
    }),
    route({
      method: 'get',
      path: '/v1/audit/keys',
      tag,
      summary: 'The registry of public keys',
      access: 'public',
      status: 200,
      response: PublicKeys,
      errors: [],
      handler: async () => ({ keys: (await registry.list()).map(withFingerprint) }),
    }),
  ];
}

type Registered = Awaited<ReturnType<KeyRegistry['list']>>[number];

function withFingerprint({ key: _key, ...registered }: Registered) {
  const der = Buffer.from(registered.publicKey, 'base64');
  return { ...registered, fingerprint: createHash('sha256').update(der).digest('hex') };
}
