import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import type { SignedStatement } from '../authorship/statement.ts';
import { parseAnswer, type Http, type HttpAnswer } from '../http/http.ts';
import { listPages, readPages } from '../http/pages.ts';
import { AuditProof } from '../proofs/proof-format.ts';
import { SealError } from '../proofs/seal.ts';
import { documentPath, DocumentStatus, FileHash, hashingTimeoutSeconds } from './fields.ts';
import { createDocumentVersions, type DocumentVersions } from './versions.ts';

const DocumentItem = z.object({
  id: z.uuid(),
  encryptedMetadata: z.string(),
  status: DocumentStatus,
  createdAt: z.iso.datetime(),
});
export type DocumentItem = z.output<typeof DocumentItem>;

const Document = DocumentItem.extend({
  userId: z.string(),
  fileHash: FileHash,
  /** When the vault last read the stored file and found it whole; null if never. */
  fixityVerifiedAt: z.iso.datetime().nullable(),
});
/** A document in its current version. */
export type Document = z.output<typeof Document>;

/** A document together with its ETag. */
export interface RevisedDocument {
  readonly document: Document;
  /**
   * ETag that changes with every change of the document, in the form of a header value, with
   * quotes.
   */
  readonly etag: string;
}

const DocumentHash = z.object({ hash: z.string(), algorithm: z.literal('SHA3-256') });

const Certificate = z.object({
  id: z.uuid(),
  status: z.literal('SEALED'),
  sealedAt: z.iso.datetime(),
  proofId: z.uuid(),
  proof: z.unknown(),
});
export type Certificate = z.output<typeof Certificate> & { readonly proof: AuditProof };

export interface NewMetadata {
  /** Base64, from `encryptMetadata`. */
  readonly encryptedMetadata: string;
  /** Hashes from `hashKeywords`, which replace all present hashes. */
  readonly keywordDeterministic?: readonly string[];
}

export interface NewDocument extends Required<NewMetadata> {
  /** Random UUID, for which the metadata and the file were encrypted. */
  readonly id: string;
  /** Storage path from `uploadFile`. */
  readonly storagePath: string;
  /** From `commitmentOf`, 64 hex digits; the seal of the first version carries it. */
  readonly contentCommitment?: string;
}

/**
 * A search by hashes from `hashKeywords`. The two lists together must contain at least one hash.
 */
export interface KeywordQuery {
  /** Hashes that a document must all have. */
  readonly all?: readonly string[];
  /** Hashes of which a document must have at least one. An empty list is ignored. */
  readonly any?: readonly string[];
}

/**
 * The documents of the user. Methods with an id throw VaultError 404 not_found for an unknown id.
 */
export interface Documents extends DocumentVersions {
  /**
   * Creates a document from an uploaded file. Throws VaultError 409 duplicate_hash or
   * document_exists, or 400 stored_file_not_found; all may also mean that an earlier call created
   * the document and its response was lost.
   */
  create(document: NewDocument): Promise<Document>;
  /**
   * Lists the user's own documents, newest first. `pageSize` is the number of documents per
   * request.
   */
  list(options?: { readonly pageSize?: number }): AsyncGenerator<DocumentItem, void, void>;
  /**
   * Lists the user's own documents that match the query, newest first. Throws VaultError 400
   * validation_failed for a query without a hash.
   */
  search(
    query: KeywordQuery,
    options?: { readonly pageSize?: number },
  ): AsyncGenerator<DocumentItem, void, void>;
  /** Resolves with a document in its current version. */
  get(id: string): Promise<Document>;
  /** Resolves with a document and the ETag that `replaceMetadata` needs. */
  getRevised(id: string): Promise<RevisedDocument>;
  /**
   * Replaces the metadata. Throws VaultError 412 precondition_failed unless the document's ETag is
   * `etag`, and 409 document_sealed.
   */
  replaceMetadata(id: string, metadata: NewMetadata, etag: string): Promise<RevisedDocument>;
  /** Resolves with the SHA3-256 of the encrypted file as the vault computed it, 64 hex digits. */
  hash(id: string): Promise<string>;
  /**
   * Deletes a document. Throws VaultError 403 document_sealed, and 400 statement_invalid if the
   * statement is not of the document as it is.
   */
  delete(id: string, statement?: SignedStatement): Promise<void>;
  /**
   * Seals the current version. Throws VaultError 409 document_sealed, also if an earlier call
   * sealed it and its response was lost, and 503 signer_unavailable if the HSM is unavailable; both
   * errors contain the id of the audit proof in `body.proofId`, even if the proof is not signed
   * yet. Throws 400 statement_invalid if the statement is not of the document as it is, and
   * SealError for a response whose proof has not the form of one.
   */
  certify(id: string, statement?: SignedStatement): Promise<Certificate>;
}

export function createDocuments({ http }: { readonly http: Http }): Documents {
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

    async delete(id, statement) {
      await http.send({ method: 'DELETE', path: documentPath(id), json: statement });
    },

    async certify(id, statement) {
      const path = `${documentPath(id)}/certify`;
      const request = { method: 'POST', path, repeatable: true, json: statement } as const;
      const { proof, ...certificate } = await http.json(Certificate, request);
      const parsed = AuditProof.safeParse(proof);
      if (!parsed.success) throw new SealError(certificate.proofId, proof, 'malformed');
      return { ...certificate, proof: parsed.data };
    },
  };
}

function parseRevised({ headers, body }: HttpAnswer): RevisedDocument {
  const etag = headers.get('etag');
  if (etag === null) throw new ClientError('invalid_response');
  return { document: parseAnswer(Document, body), etag };
}
