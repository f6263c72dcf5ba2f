import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { Clock } from '../../async/clock.ts';
import type { Proofs } from '../../audit/proofs/proofs.ts';
import { atOnce, type Database, type Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { backlogChecked, type Act } from '../../audit-trail/act.ts';
import {
  assertPending,
  commitmentOf,
  lockDocument,
  statedVersion,
  type DocumentRow,
} from '../records/document-rows.ts';
import { markSealed } from '../records/document-changes.ts';
import { hashMetadata } from '../records/metadata-hash.ts';
import type { Certified } from '../records/schema.ts';
import type { AuthorStatement } from '../../statements/schema.ts';
import type { Authored, Statements } from '../../statements/statements.ts';

/**
 * Milliseconds for which a request waits for the signature; clients can fetch a late proof later.
 */
const signatureWaitMs = 5_000;

interface CertificationOptions {
  readonly db: Database;
  readonly act: Act;
  readonly statements: Statements;
  readonly proofs: Proofs;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** A document to seal, and what its author states of that. */
interface Sealing {
  readonly id: string;
  readonly stated: AuthorStatement | undefined;
}

export type Certification = ReturnType<typeof createCertification>;

/** Creates the service that seals documents. */
export function createCertification(options: CertificationOptions) {
  const { db, act, statements, proofs, store, clock } = options;

  /**
   * Checks that the stored file of the current version is still the file that the server hashed.
   * Returns the number of the current version.
   */
  async function checkStoredFile({ caller }: ServiceRequest, id: string): Promise<number> {
    const row = await db.asUser(caller, (tx) => lockDocument(tx, caller, id), atOnce);
    assertPending(row);
    const stored = await store.stat(row.storage_key);
    if (stored?.version !== row.object_version || stored.size !== row.file_size) {
      throw new AppError('stored_file_changed');
    }
    return row.version;
  }

  /**
   * Seals the given version. Returns undefined and changes nothing if another version has become
   * the current version.
   */
  function seal(
    request: ServiceRequest,
    { id, version, stated }: Sealing & { readonly version: number },
  ) {
    const { caller } = request;
    const sealVersion = async (tx: Tx) => {
      const row = await lockDocument(tx, caller, id);
      if (row.version !== version) return { answer: undefined, events: [] };
      assertPending(row);
      const author = await statements.verify(tx, caller, stated, () => ({
        action: 'document.sealed',
        ...statedVersion(row),
      }));
      const proofId = uuidv7();
      const sealedAt = clock();
      markSealed(tx, row, { status: 'SEALED', sealed_at: sealedAt, proof_id: proofId });
      return { answer: { sealedAt, proofId }, events: [sealedEvent(row, proofId, author)] };
    };
    return act(request, sealVersion, backlogChecked);
  }

  async function sealCurrent(request: ServiceRequest, sealing: Sealing) {
    for (;;) {
      const version = await checkStoredFile(request, sealing.id);
      const sealed = await seal(request, { ...sealing, version });
      if (sealed !== undefined) return sealed;
    }
  }

  return {
    /**
     * Seals the current version: checks that its stored file is still the file that the server
     * hashed, appends an audit entry with what the author stated, and waits for the signature.
     * Throws not_found, document_sealed, document_expired, stored_file_changed, or
     * statement_invalid, also for a statement of another version. Throws signer_unavailable if the
     * signature takes longer than 5 s: the version is sealed nevertheless, and the audit proof with
     * the id `proofId` becomes available later.
     */
    async certify(request: ServiceRequest, sealing: Sealing): Promise<z.input<typeof Certified>> {
      act.assertWritable(request);
      const { id } = sealing;
      const { sealedAt, proofId } = await sealCurrent(request, sealing);
      const waiting = { ms: signatureWaitMs, isNew: true };
      const proof = await proofs.waitFor(request.caller, proofId, waiting);
      if (proof === undefined) throw new AppError('signer_unavailable', { members: { proofId } });
      return { id, status: 'SEALED', sealedAt, proofId, proof };
    },
  };
}

function sealedEvent(row: DocumentRow, proofId: string, author: Authored) {
  return {
    action: 'document.sealed',
    entryId: proofId,
    resource: { type: 'document', id: row.document_id },
    data: {
      version: row.version,
      fileHash: row.file_hash,
      size: row.file_size,
      metadataHash: hashMetadata(row.encrypted_metadata),
      ...commitmentOf(row),
      ...author,
    },
  } as const;
}
