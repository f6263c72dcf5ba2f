import { z } from 'zod';
import { parseAnswer, type Http } from '../http/http.ts';
import { listPages, readBodies } from '../http/pages.ts';
import { AuditProof } from '../proofs/proof-format.ts';
import { documentPath, DocumentStatus, FileHash, hashingTimeoutSeconds } from './fields.ts';

const DocumentVersion = z.object({
  documentId: z.uuid(),
  /** Version number, from 1. */
  version: z.int().positive(),
  /** Base64, for `openMetadata`. */
  encryptedMetadata: z.string(),
  fileHash: FileHash,
  status: DocumentStatus,
  createdAt: z.iso.datetime(),
});
/** A version of a document, which is one file. */
export type DocumentVersion = z.output<typeof DocumentVersion>;

const DocumentProofs = z.object({
  proofs: z.array(AuditProof),
  actions: z.record(z.string(), z.string()),
});

export interface NewVersion {
  /** Base64, from `encryptMetadata`. */
  readonly encryptedMetadata: string;
  /** Storage path from `uploadFile`. */
  readonly storagePath: string;
  /** From `commitmentOf`, 64 hex digits; the seal of the version carries it. */
  readonly contentCommitment?: string;
}

/** The versions of a document, each of which is one file. The newest is the current one. */
export interface DocumentVersions {
  /** Lists the versions, newest first. */
  versions(
    id: string,
    options?: { readonly pageSize?: number },
  ): AsyncGenerator<DocumentVersion, void, void>;
  /**
   * Adds a version from an uploaded file. Throws VaultError 412 precondition_failed unless the
   * document's ETag is `etag`, 409 duplicate_hash or 400 stored_file_not_found, which may all also
   * mean that an earlier attempt added the version and its response was lost, and 409
   * too_many_versions.
   */
  addVersion(id: string, version: NewVersion, etag: string): Promise<DocumentVersion>;
  /**
   * Resolves with the audit proofs of the sealed versions, oldest version first. Omits proofs that
   * are not signed yet, and those of months that are archived outside of the vault. Throws
   * VaultError 410 entry_archived if none is left.
   */
  proofs(id: string): Promise<AuditProof[]>;
}

export function createDocumentVersions({ http }: { readonly http: Http }): DocumentVersions {
  return {
    versions(id, { pageSize } = {}) {
      return listPages(http, DocumentVersion, `${documentPath(id)}/versions`, pageSize);
    },

    addVersion(id, version, etag) {
      return http.json(DocumentVersion, {
        method: 'POST',
        path: `${documentPath(id)}/versions`,
        repeatable: true,
        timeoutSeconds: hashingTimeoutSeconds,
        headers: { 'if-match': etag },
        json: version,
      });
    },

    async proofs(id) {
      const path = `${documentPath(id)}/proof`;
      const proofs: AuditProof[] = [];
      for await (const body of readBodies(http, { method: 'GET', path })) {
        const page = parseAnswer(DocumentProofs, body);
        proofs.push(...page.proofs.filter((proof) => page.actions[proof.id] === 'document.sealed'));
      }
      return proofs;
    },
  };
}
