import type { Clock } from '../async/clock.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { ProofReads } from './proof-reads.ts';
import {
  absences,
  Batch,
  BatchVerification,
  EntryId,
  EntryVerification,
  ExternalProof,
  ExternalVerification,
  Proof,
  RestoreProofs,
  Status,
  StatusQuery,
  TombstoneReference,
} from '../proof/schema.ts';
import type { Verification } from './verification/verification.ts';

const tag = 'Proofs';
const access = { scopes: ['audit:read'] };

/** Limit on a body with 1000 entry ids. */
const batchBodyBytes = 2 ** 16;
/** Limit on a body with an entry of 64 KiB, in which every character may be escaped. */
const proofBodyBytes = 2 ** 18;

interface AuditRouteServices {
  readonly proofReads: ProofReads;
  readonly verification: Verification;
  readonly clock: Clock;
}

const route = routeFor<AuditRouteServices>();

export const auditRoutes = [
  // This route is listed before `:id`, which would match `status`.
  route({
    method: 'get',
    path: '/v1/audit/proof/status',
    operation: 'verifyNewestEntries',
    tag,
    summary: 'Verifies the newest audit entries now',
    access,
    query: StatusQuery,
    status: 200,
    response: Status,
    errors: [],
    audit: { actions: ['audit.read'] },
    handler: ({ proofReads }, { request, query }) => proofReads.verifyNewest(request, query.limit),
  }),
  route({
    method: 'get',
    path: '/v1/audit/restores',
    operation: 'listRestores',
    tag,
    summary: 'Returns the proofs of the last ten restores of the vault from a backup, newest first',
    access,
    status: 200,
    response: RestoreProofs,
    maxAnswerBytes: listBytes,
    errors: [],
    audit: { actions: ['audit.read'] },
    handler: ({ proofReads }, { request }) => proofReads.restores(request),
  }),
  route({
    method: 'get',
    path: '/v1/audit/proof/:id',
    operation: 'getProof',
    tag,
    summary: 'Returns the proof of an audit entry',
    access,
    params: EntryId,
    status: 200,
    response: Proof,
    errors: absences,
    errorMembers: { entry_unrecoverable: TombstoneReference },
    audit: { actions: ['audit.read'] },
    handler: ({ proofReads }, { request, params }) => proofReads.get(request, params.id),
  }),
  route({
    method: 'get',
    path: '/v1/audit/proof/:id/verify',
    operation: 'verifyEntry',
    tag,
    summary: 'Verifies an audit entry now',
    access,
    params: EntryId,
    status: 200,
    response: EntryVerification,
    errors: absences,
    errorMembers: { entry_unrecoverable: TombstoneReference },
    audit: { actions: ['audit.read'] },
    handler: async ({ proofReads, clock }, { request, params }) => ({
      entryId: params.id,
      ...(await proofReads.verify(request, params.id)),
      verifiedAt: clock(),
    }),
  }),
  route({
    method: 'post',
    path: '/v1/audit/proof/verify-batch',
    operation: 'verifyEntries',
    tag,
    summary: 'Verifies many audit entries now',
    access,
    body: Batch,
    maxBodyBytes: batchBodyBytes,
    status: 200,
    response: BatchVerification,
    maxAnswerBytes: listBytes,
    errors: [],
    audit: { actions: ['audit.read'] },
    handler: ({ proofReads }, { request, body }) => proofReads.verifyBatch(request, body.ids),
  }),
  route({
    method: 'post',
    path: '/v1/audit/proof/verify-external',
    operation: 'verifyProof',
    tag,
    summary: 'Verifies the audit proof that the request contains',
    access,
    body: ExternalProof,
    maxBodyBytes: proofBodyBytes,
    status: 200,
    response: ExternalVerification,
    errors: ['entry_archived'],
    audit: { actions: [], note: 'the request itself contains the proof' },
    handler: async ({ verification, clock }, { body }) => ({
      ...(await verification.verifyExternal(body.proof)),
      verifiedAt: clock(),
    }),
  }),
];
