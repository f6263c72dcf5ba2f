import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import { parseAnswer, type Http, type HttpAnswer } from '../http/http.ts';
import { listPages, readPages } from '../http/pages.ts';
import { AuditProof } from '../proofs/audit-proof.ts';
import { documentPath, DocumentStatus, FileHash, hashingTimeoutSeconds } from './fields.ts';
import { createDocumentVersions, type DocumentVersions } from './versions.ts';

const DocumentItem = z.object({
  id: z.uuid(),
  encryptedMetadata: z.string(),
  status: DocumentStatus,
  createdAt: z.iso.datetime(),
});
export type DocumentItem = z.output<typeof DocumentItem>;

const Document = DocumentItem.extend({ userId: z.string(), fileHash: FileHash });
/** In its current version. */
export type Document = z.output<typeof Document>;

/** A document and the state that it is in. */
export interface RevisedDocument {
  readonly document: Document;
  /** Another one after every change. */
  readonly etag: string;
}

const DocumentHash = z.object({ hash: z.string(), algorithm: z.literal('SHA3-256') });

const Certificate = z.object({
  id: z.uuid(),
  status: z.literal('SEALED'),
  sealedAt: z.iso.datetime(),
  proofId: z.uuid(),
  proof: AuditProof,
});
export type Certificate = z.output<typeof Certificate>;

export interface NewMetadata {
  /** Base64, from `encryptMetadata`. */
  readonly encryptedMetadata: string;
  /** From `hashKeywords`, in place of all that there are. */
  readonly keywordDeterministic?: readonly string[];
}

export interface NewDocument extends Required<NewMetadata> {
  /** From `uploadFile`. */
  readonly storagePath: string;
}

/** Hashes from `hashKeywords`, at least one. */
export interface KeywordQuery {
  readonly all?: readonly string[];
  readonly any?: readonly string[];
}

export interface Documents extends DocumentVersions {
  /**
   * VaultError 409 duplicate_hash, 400 stored_file_not_found; either also says that an earlier call
   * has made the document though its answer was lost.
   */
  create(document: NewDocument): Promise<Document>;
  list(options?: { pageSize?: number }): AsyncGenerator<DocumentItem, void, void>;
  /** The user's own with every keyword of `all` and one of `any`, newest first. */
  search(
    query: KeywordQuery,
    options?: { pageSize?: number },
  ): AsyncGenerator<DocumentItem, void, void>;
  get(id: string): Promise<Document>;
  getRevised(id: string): Promise<RevisedDocument>;
  /**
   * VaultError 412 precondition_failed unless the document is in the state that `etag` names, 409
   * document_sealed.
   */
  replaceMetadata(id: string, metadata: NewMetadata, etag: string): Promise<RevisedDocument>;
  /** 64 hex digits. */
  hash(id: string): Promise<string>;
  /** VaultError 403 document_sealed. */
  delete(id: string): Promise<void>;
  /**
   * Seals the current version. VaultError 409 document_sealed, also where an earlier try's answer was
   * lost, and 503 (the HSM is away) carry `body.proofId`, the proof that is or will be there.
   */
  certify(id: string): Promise<Certificate>;
}

export function createDocuments({ http }: { http: Http }): Documents {
  return {
    ...createDocumentVersions({ http }),

    create(document) {
      return http.json(Document, {
        method: 'POST',
        path: '/v1/documents',
        idempotencyKey: crypto.randomUUID(),
        timeoutSeconds: hashingTimeoutSeconds,
        json: document,
      });
    },

    list({ pageSize } = {}) {
      return listPages(http, DocumentItem, '/v1/documents', pageSize);
    },

    search(query, { pageSize } = {}) {
      const path = '/v1/documents/search';
      const request = { method: 'POST', path, repeatable: true, json: query } as const;
      return readPages(http, DocumentItem, request, pageSize);
    },

    get(id) {
      return http.json(Document, { method: 'GET', path: documentPath(id) });
    },

    async getRevised(id) {
      return parseRevised(await http.send({ method: 'GET', path: documentPath(id) }));
    },

    async replaceMetadata(id, metadata, etag) {
      const path = `${documentPath(id)}/metadata`;
      const headers = { 'if-match': etag };
      return parseRevised(await http.send({ method: 'PUT', path, headers, json: metadata }));
    },

    async hash(id) {
      const path = `${documentPath(id)}/hash`;
      return (await http.json(DocumentHash, { method: 'GET', path })).hash;
    },

    async delete(id) {
      await http.send({ method: 'DELETE', path: documentPath(id) });
    },

    certify(id) {
      const path = `${documentPath(id)}/certify`;
      return http.json(Certificate, { method: 'POST', path, repeatable: true });
    },
  };
}

function parseRevised({ headers, body }: HttpAnswer): RevisedDocument {
  const etag = headers.get('etag');
  if (etag === null) throw new ClientError('invalid_response');
  return { document: parseAnswer(Document, body), etag };
}
