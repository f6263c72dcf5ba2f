import { z } from 'zod';
import { AuditProof } from './audit-proof.ts';
import type { Http } from './http.ts';
import { listPages } from './pages.ts';

/** The server hashes the whole file before it answers. */
const CREATE_TIMEOUT_SECONDS = 300;

const Status = z.enum(['PENDING', 'SEALED', 'EXPIRED']);

const DocumentItem = z.object({
  id: z.uuid(),
  encryptedMetadata: z.string(),
  status: Status,
  createdAt: z.iso.datetime(),
});
export type DocumentItem = z.output<typeof DocumentItem>;

const Document = DocumentItem.extend({
  userId: z.string(),
  /** SHA3-256 of the encrypted file as the server has it, 64 hex digits. */
  fileHash: z.string().regex(/^[0-9a-f]{64}$/),
});
export type Document = z.output<typeof Document>;

const DocumentHash = z.object({ hash: z.string(), algorithm: z.literal('SHA3-256') });

const Certificate = z.object({
  id: z.uuid(),
  status: z.literal('SEALED'),
  sealedAt: z.iso.datetime(),
  proofId: z.uuid(),
  proof: AuditProof,
});
export type Certificate = z.output<typeof Certificate>;

export interface NewDocument {
  /** Base64, from `encryptMetadata`. */
  readonly encryptedMetadata: string;
  /** From `hashKeywords`. */
  readonly keywordDeterministic: readonly string[];
  /** From `uploadFile`. */
  readonly storagePath: string;
}

export interface Documents {
  /**
   * VaultError 409 duplicate_hash, 400 stored_file_not_found; either also says that an earlier try
   * has made the document though its answer was lost.
   */
  create(document: NewDocument): Promise<Document>;
  list(options?: { pageSize?: number }): AsyncGenerator<DocumentItem, void, void>;
  get(id: string): Promise<Document>;
  /** 64 hex digits. */
  hash(id: string): Promise<string>;
  /** VaultError 403 document_sealed. */
  delete(id: string): Promise<void>;
  /**
   * Seals the document. VaultError 409 document_sealed and 503 (the HSM is away) carry
   * `body.proofId`, the proof that is or will be there.
   */
  certify(id: string): Promise<Certificate>;
}

export function createDocuments({ http }: { http: Http }): Documents {
  const documentPath = (id: string) => `/v1/documents/${encodeURIComponent(id)}`;

  return {
    create(document) {
      return http.json(Document, {
        method: 'POST',
        path: '/v1/documents',
        repeatable: true,
        timeoutSeconds: CREATE_TIMEOUT_SECONDS,
        json: document,
      });
    },

    list({ pageSize } = {}) {
      return listPages(http, DocumentItem, '/v1/documents', pageSize);
    },

    get(id) {
      return http.json(Document, { method: 'GET', path: documentPath(id) });
    },

    async hash(id) {
      const path = `${documentPath(id)}/hash`;
      return (await http.json(DocumentHash, { method: 'GET', path })).hash;
    },

    async delete(id) {
      await http.send({ method: 'DELETE', path: documentPath(id) });
    },

    certify(id) {
      return http.json(Certificate, { method: 'POST', path: `${documentPath(id)}/certify` });
    },
  };
}
