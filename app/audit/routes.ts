import type { Clock } from '../async/clock.ts';
import { route, type Route } from '../http/routing/route.ts';
import type { ProofReads } from './proofs/proof-reads.ts';
import type { Proofs } from './proofs/proofs.ts';
import {
  Batch,
  BatchVerification,
  EntryId,
  EntryVerification,
  ExternalProof,
  ExternalVerification,
  Proof,
  Status,
  StatusQuery,
} from '../proof/schema.ts';
import type { Verification } from './verification/verification.ts';

const tag = 'Audit';
const access = { scopes: ['audit:read'] };

interface AuditRoutesOptions {
  readonly proofs: Proofs;
  readonly proofReads: ProofReads;
  readonly verification: Verification;
  readonly clock: Clock;
}

export function createAuditRoutes(options: AuditRoutesOptions): Route[] {
  const { proofs, proofReads, verification, clock } = options;
  return [
    // Before the paths with an id, which it would be one of.
    route({
      method: 'get',
      path: '/v1/audit/proof/status',
      tag,
      summary: 'Verifies the newest audit entries now',
      access,
      query: StatusQuery,
      status: 200,
      response: Status,
      errors: [],
      handler: ({ caller, query }) =>
        proofReads.record(caller, verification.verifyNewest(caller, query.limit)),
    }),
    route({
      method: 'get',
      path: '/v1/audit/proof/:id',
      tag,
      summary: 'The proof of an audit entry',
      access,
      params: EntryId,
      status: 200,
      response: Proof,
      errors: ['not_found', 'proof_not_ready', 'entry_unrecoverable', 'entry_erased'],
      handler: ({ caller, params }) => proofReads.record(caller, proofs.get(caller, params.id)),
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
      errors: ['not_found', 'proof_not_ready', 'entry_unrecoverable', 'entry_erased'],
      handler: async ({ caller, params }) => ({
        entryId: params.id,
        ...(await proofReads.record(caller, verification.verify(caller, params.id))),
        verifiedAt: clock(),
      }),
    }),
    route({
      method: 'post',
      path: '/v1/audit/proof/verify-batch',
      tag,
      summary: 'Verifies many audit entries now',
      access,
      body: Batch,
      status: 200,
      response: BatchVerification,
      errors: [],
      handler: ({ caller, body }) =>
        proofReads.record(caller, verification.verifyBatch(caller, body.ids)),
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
        ...(await verification.verifyExternal(body.proof)),
        verifiedAt: clock(),
      }),
    }),
  ];
}
