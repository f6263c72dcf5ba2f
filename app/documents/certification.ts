import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { Proofs } from '../audit/proofs.ts';
import { byOwner } from '../audit/event.ts';
import type { AuditTrail } from '../audit/trail.ts';
import type { Clock } from '../clock.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../errors.ts';
import type { Caller } from '../http/caller.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { Certified } from './schema.ts';
import { loadDocument, lockDocument } from './document-rows.ts';

/** How long a caller waits for the HSM before being told to ask for the proof later. */
const signatureWaitMs = 5_000;

export interface Certification {
  /**
   * Seals the document: what is stored now is what was hashed, and the entry that says so is
   * signed. Throws not_found, document_sealed, document_expired or stored_file_changed; with the
   * HSM away signer_unavailable, the document being sealed and its proof on the way (`proofId`).
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

  async function assertStoredFile(caller: Caller, id: string): Promise<void> {
    const row = await db.asUser(caller, (tx) => loadDocument(tx, id));
    assertSealable(row);
    const stored = await store.stat(row.storage_key);
    if (stored?.version !== row.object_version || stored.size !== row.file_size) {
      throw new AppError('stored_file_changed');
    }
  }

  function seal(caller: Caller, id: string, requestId: string) {
    return db.asUser(caller, async (tx) => {
      const row = await lockDocument(tx, id);
      assertSealable(row);
      const proofId = uuidv7();
      const sealedAt = clock();
      await tx
        .updateTable('document_versions')
        .set({ status: 'SEALED', sealed_at: sealedAt, proof_id: proofId })
        .where('document_id', '=', id)
        .where('version', '=', row.version)
        .execute();
      await tx
        .updateTable('documents')
        .set({ revision: row.revision + 1 })
        .where('id', '=', id)
        .execute();
      const metadata = Buffer.from(row.encrypted_metadata, 'base64');
      await audit.append(
        tx,
        {
          action: 'document.sealed',
          ...byOwner(caller, requestId),
          resource: { type: 'document', id },
          data: {
            fileHash: row.file_hash,
            size: row.file_size,
            metadataHash: createHash('sha3-256').update(metadata).digest('hex'),
          },
        },
        proofId,
      );
      return { sealedAt, proofId };
    });
  }

  return {
    async certify(caller, id, requestId) {
      audit.assertWritable();
      await assertStoredFile(caller, id);
      const { sealedAt, proofId } = await seal(caller, id, requestId);
      const proof = await proofs.waitFor(caller, proofId, signatureWaitMs);
      if (proof === undefined) throw new AppError('signer_unavailable', { members: { proofId } });
      return { id, status: 'SEALED', sealedAt, proofId, proof };
    },
  };
}

function assertSealable(row: { status: string; proof_id: string | null }): void {
  if (row.status === 'SEALED') {
    throw new AppError('document_sealed', { members: { proofId: row.proof_id ?? '' } });
  }
  if (row.status === 'EXPIRED') throw new AppError('document_expired');
}
