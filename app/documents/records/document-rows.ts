import { sql, type Selectable } from 'kysely';
import type { z } from 'zod';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import type { Owner, Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import { takesLock } from '../../db/lock-order.ts';
import { compileOnce } from '../../db/compile-once.ts';
import { inTurn } from '../../db/pipeline.ts';
import { AppError } from '../../errors/app-error.ts';
import type { StatedVersion } from '../../statements/statements.ts';
import { hashMetadata } from './metadata-hash.ts';
import { isReadableBy, onlyVersionFor, versionShownTo } from './readable.ts';
import type { DocumentView } from './schema.ts';

export type VersionRow = Selectable<Schema['document_versions']>;

const versionColumns = [
  'document_versions.document_id',
  'document_versions.version',
  'document_versions.user_id',
  'document_versions.tenant_id',
  'document_versions.storage_key',
  'document_versions.object_version',
  'document_versions.file_size',
  'document_versions.file_hash',
  'document_versions.encrypted_metadata',
  'document_versions.status',
  'document_versions.created_at',
  'document_versions.sealed_at',
  'document_versions.proof_id',
  'document_versions.content_commitment',
] as const;

/** A document together with its current version. */
export type DocumentRow = VersionRow & {
  readonly place: string;
  readonly revision: number;
  readonly document_created_at: Date;
  /** When the stored file was last found whole; null if no check has yet. */
  readonly whole_at: Date | null;
};

/** A document as the API returns it, and its revision, which each change increments. */
export interface RevisedDocument {
  readonly document: z.input<typeof DocumentView>;
  readonly revision: number;
}

/** Selects documents together with their current versions, or the version that `reader` sees. */
export function selectDocuments(tx: Tx, reader?: Owner) {
  const version = reader === undefined ? sql<number>`documents.version` : versionShownTo(reader);
  return tx
    .selectFrom('documents')
    .innerJoin('document_versions', (join) =>
      join
        .onRef('document_versions.document_id', '=', 'documents.id')
        .on('document_versions.version', '=', version),
    )
    .select(versionColumns)
    .select([
      'documents.place',
      'documents.revision',
      'documents.created_at as document_created_at',
    ]);
}

/** Loads a document that the reader may read, in its current version. Throws not_found. */
export async function loadDocument(
  tx: Tx,
  { userId, tenantId }: Owner,
  id: string,
): Promise<DocumentRow> {
  const [row] = await selectReadable(tx, { userId, tenantId, id });
  if (row === undefined) throw new AppError('not_found');
  return row;
}

type Sought = Owner & { readonly id: string };

const selectReadable = compileOnce((sought: Sought, db) =>
  selectDocuments(db, sought)
    .leftJoin('object_checks', (join) =>
      join
        .onRef('object_checks.document_id', '=', 'document_versions.document_id')
        .onRef('object_checks.version', '=', 'document_versions.version'),
    )
    .select('object_checks.whole_at')
    .where('documents.id', '=', sought.id)
    .where(isReadableBy(sought))
    .compile(),
);

/** Loads a version of a document of the owner. Throws not_found. */
export async function loadVersion(
  tx: Tx,
  { userId, tenantId }: Owner,
  { id, version }: { readonly id: string; readonly version: number },
): Promise<VersionRow> {
  const row = await tx
    .selectFrom('document_versions')
    .select(versionColumns)
    .where('document_id', '=', id)
    .where('version', '=', version)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/** Returns the hash of the file of a document's current version, in hex. Throws not_found. */
export async function loadHash(tx: Tx, reader: Owner, id: string): Promise<string> {
  const row = await selectDocuments(tx, reader)
    .clearSelect()
    .select('document_versions.file_hash')
    .where('documents.id', '=', id)
    .where(isReadableBy(reader))
    .executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row.file_hash;
}

/** A document's owner, and what the reader may read of it. */
interface ReadableDocument extends Owner {
  /** The only version that is shared with the reader; null if all may be read. */
  readonly onlyVersion: number | null;
  readonly createdAt: Date;
}

/** Returns the owner of a document that the reader may read. Throws not_found. */
export async function loadOwner(tx: Tx, reader: Owner, id: string): Promise<ReadableDocument> {
  const owner = await tx
    .selectFrom('documents')
    .select(['user_id as userId', 'tenant_id as tenantId', 'created_at as createdAt'])
    .select(onlyVersionFor(reader).as('onlyVersion'))
    .where('id', '=', id)
    .where(isReadableBy(reader))
    .executeTakeFirst();
  if (owner === undefined) throw new AppError('not_found');
  return owner;
}

/**
 * Locks the row of a document of the owner for the rest of `tx`, and returns the document with its
 * current version. Throws not_found.
 */
export async function lockDocument(
  tx: Tx,
  { userId, tenantId }: Owner,
  id: string,
): Promise<DocumentRow> {
  takesLock(tx, 'document');
  const sought = { userId, tenantId, id };
  // Lock first, then read: a single statement with a join could return the version that was current
  // before it waited for the lock.
  const [[locked], [row]] = await inTurn(lockOwn(tx, sought), selectReadable(tx, sought));
  if (locked === undefined || row === undefined) throw new AppError('not_found');
  return row;
}

const lockOwn = compileOnce(({ id, userId, tenantId }: Sought, db) =>
  db
    .selectFrom('documents')
    .select('id')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .forUpdate()
    .compile(),
);

/** Returns the owner of a document in an administrator's reach. Throws not_found. */
export async function findOwner(tx: Tx, id: string, reach: Reach): Promise<Owner> {
  const owner = await tx
    .selectFrom('documents')
    .select(['user_id as userId', 'tenant_id as tenantId'])
    .where('id', '=', id)
    .where(isInReach(reach))
    .executeTakeFirst();
  if (owner === undefined) throw new AppError('not_found');
  return owner;
}

/**
 * Throws document_sealed, with the id of the audit proof, if a version is sealed, and
 * document_expired if it has expired.
 */
export function assertPending({ status, proof_id: proofId }: VersionRow): void {
  if (status === 'SEALED') {
    throw new AppError('document_sealed', { members: { proofId: proofId ?? '' } });
  }
  if (status === 'EXPIRED') throw new AppError('document_expired');
}

/** Returns what authors state of a version. */
export function statedVersion(row: VersionRow): StatedVersion {
  return {
    owner: row.user_id,
    documentId: row.document_id,
    version: row.version,
    fileHash: row.file_hash,
    metadataHash: hashMetadata(row.encrypted_metadata),
    contentCommitment: row.content_commitment,
  };
}

/** Returns the member of entries for the client's commitment to a file, if the version has one. */
export function commitmentOf({ content_commitment: contentCommitment }: VersionRow): {
  readonly contentCommitment?: string;
} {
  return contentCommitment === null ? {} : { contentCommitment };
}

export function ownerOf(row: Pick<VersionRow, 'user_id' | 'tenant_id'>): Owner {
  return { userId: row.user_id, tenantId: row.tenant_id };
}

export function toView(row: DocumentRow): z.input<typeof DocumentView> {
  return {
    id: row.document_id,
    userId: row.user_id,
    encryptedMetadata: row.encrypted_metadata,
    fileHash: row.file_hash,
    status: row.status,
    createdAt: row.document_created_at,
    fixityVerifiedAt: row.whole_at,
  };
}

export function toRevised(row: DocumentRow): RevisedDocument {
  return { document: toView(row), revision: row.revision };
}
