import { z } from 'zod';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import { AuditProof } from '../proofs/audit-proof.ts';
import { documentPath, DocumentStatus, FileHash, hashingTimeoutSeconds } from './fields.ts';

const DocumentVersion = z.object({
  documentId: z.uuid(),
  /** From 1. */
  version: z.int().positive(),
  fileHash: FileHash,
  status: DocumentStatus,
  createdAt: z.iso.datetime(),
});
/** One file of a document. */
export type DocumentVersion = z.output<typeof DocumentVersion>;

const DocumentProofs = z.object({ proofs: z.array(AuditProof) });

export interface NewVersion {
  /** Base64, from `encryptMetadata`. */
  readonly encryptedMetadata: string;
  /** From `uploadFile`. */
  readonly storagePath: string;
}

/** The files of a document; the newest is the one that it shows. */
export interface DocumentVersions {
  /** Newest first. */
  versions(
    id: string,
    options?: { pageSize?: number },
  ): AsyncGenerator<DocumentVersion, void, void>;
  /**
   * VaultError 409 duplicate_hash, 400 stored_file_not_found; either also says that an earlier try
   * has made the version though its answer was lost.
   */
  addVersion(id: string, version: NewVersion): Promise<DocumentVersion>;
  /** Of the sealed versions, oldest first. One that waits for its signature is left out. */
  proofs(id: string): Promise<AuditProof[]>;
}

export function createDocumentVersions({ http }: { http: Http }): DocumentVersions {
  return {
    versions(id, { pageSize } = {}) {
      return listPages(http, DocumentVersion, `${documentPath(id)}/versions`, pageSize);
    },

    addVersion(id, version) {
      return http.json(DocumentVersion, {
        method: 'POST',
        path: `${documentPath(id)}/versions`,
        repeatable: true,
        timeoutSeconds: hashingTimeoutSeconds,
        json: version,
      });
    },

    async proofs(id) {
      const path = `${documentPath(id)}/proof`;
      return (await http.json(DocumentProofs, { method: 'GET', path })).proofs;
    },
  };
}
