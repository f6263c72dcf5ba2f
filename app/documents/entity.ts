import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../db/columns.ts';
import { ownedByUser, ownedUnder } from '../db/policies.ts';

export type DocumentStatus = 'PENDING' | 'SEALED' | 'EXPIRED';

/** An encrypted file held as evidence. Sealed documents never change. */
export const Document = defineEntity({
  name: 'Document',
  tableName: 'documents',
  rowLevelSecurity: 'force',
  policies: ownedByUser('documents'),
  uniques: [
    { name: 'documents_user_hash', properties: ['userId', 'fileHash'] },
    { name: 'documents_storage_key', properties: ['storageKey'] },
  ],
  indexes: [{ name: 'documents_user', properties: ['userId', 'id'] }],
  checks: [
    { name: 'documents_status', expression: "status in ('PENDING', 'SEALED', 'EXPIRED')" },
    {
      name: 'documents_sealed',
      expression: "(status = 'SEALED') = (proof_id is not null and sealed_at is not null)",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    ...owner(),
    storageKey: p.text(),
    objectVersion: p.text(),
    fileSize: p.bigint('number'),
    /** SHA3-256 of the stored ciphertext, hex. */
    fileHash: p.text(),
    /** base64, opaque to the service. */
    encryptedMetadata: p.text(),
    status: p.text().$type<DocumentStatus>().default('PENDING'),
    createdAt: createdAt(),
    sealedAt: timestamp().nullable(),
    /** The audit entry that seals the document. */
    proofId: p.uuid().nullable(),
  },
});

/**
 * Keyword hashes of documents. A table, because under forced row-level security Postgres does not
 * use a GIN index on an array column.
 */
export const DocumentKeyword = defineEntity({
  name: 'DocumentKeyword',
  tableName: 'document_keywords',
  rowLevelSecurity: 'force',
  policies: ownedUnder('document_keywords', 'document_id', 'documents'),
  indexes: [{ name: 'document_keywords_document', properties: ['document'] }],
  properties: {
    userId: p.uuid().primary(),
    keywordHash: p.text().primary(),
    document: () =>
      p.manyToOne(Document).mapToPk().primary().deleteRule('cascade').updateRule('no action'),
    tenantId: p.text(),
  },
});
