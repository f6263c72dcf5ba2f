import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { Proofs } from '../../audit/proofs/proofs.ts';
import { byOwner } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { assertPending, changeCurrent, lockDocument } from '../records/document-rows.ts';
import { hashMetadata } from '../records/metadata-hash.ts';
import type { Certified } from '../records/schema.ts';

/** How long a caller waits for the HSM before being told to ask for the proof later. */
const signatureWaitMs = 5_000;

export interface Certification {
  /**
   * Seals the current version: what is stored now is what was hashed, and the entry that says so
   * is signed. Throws not_found, document_sealed, document_expired or stored_file_changed; with the
   * HSM away signer_unavailable, the version being sealed and its proof on the way (`proofId`).
   */
  certify(caller: Caller, id: string, requestId: string): Promise<z.input<typeof Certified>>;
}

interface CertificationOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly proofs: Proofs;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

export function createCertification(options: CertificationOptions): Certification {
  const { db, audit, proofs, store, clock } = options;

  /** Answers the current version, of which what is stored is what was hashed. */
  async function checkStoredFile(caller: Caller, id: string): Promise<number> {
    const row = await db.asUser(caller, (tx) => lockDocument(tx, id));
    assertPending(row);
    const stored = await store.stat(row.storage_key);
    if (stored?.version !== row.object_version || stored.size !== row.file_size) {
      throw new AppError('stored_file_changed');
    }
    return row.version;
  }

  /** Undefined where another version has become current since. */
  function seal(caller: Caller, id: string, version: number, requestId: string) {
    return db.asUser(caller, async (tx) => {
      const row = await lockDocument(tx, id);
      if (row.version !== version) return undefined;
      assertPending(row);
      const proofId = uuidv7();
      const sealedAt = clock();
      await changeCurrent(tx, row, { status: 'SEALED', sealed_at: sealedAt, proof_id: proofId });
      await audit.append(
        tx,
        {
          action: 'document.sealed',
          ...byOwner(caller, requestId),
          resource: { type: 'document', id },
          data: {
            fileHash: row.file_hash,
            size: row.file_size,
            metadataHash: hashMetadata(row.encrypted_metadata),
          },
        },
        proofId,
      );
      return { sealedAt, proofId };
    });
  }

  async function sealCurrent(caller: Caller, id: string, requestId: string) {
    for (;;) {
      const version = await checkStoredFile(caller, id);
      const sealed = await seal(caller, id, version, requestId);
      if (sealed !== undefined) return sealed;
    }
  }

  return {
    async certify(caller, id, requestId) {
      audit.assertWritable();
      const { sealedAt, proofId } = await sealCurrent(caller, id, requestId);
      const proof = await proofs.waitFor(caller, proofId, signatureWaitMs);
      if (proof === undefined) throw new AppError('signer_unavailable', { members: { proofId } });
      return { id, status: 'SEALED', sealedAt, proofId, proof };
    },
  };
}
