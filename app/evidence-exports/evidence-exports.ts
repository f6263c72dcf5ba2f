import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { readMonthsAway } from '../audit-trail/archived-months.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import type { Custody } from '../audit/custody/custody.ts';
import type { EntryReader } from '../audit/entries/readers.ts';
import type { Proofs } from '../audit/proofs/proofs.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import { loadOwner, lockDocument } from '../documents/records/document-rows.ts';
import { loadFiles, type StoredFile } from '../documents/records/stored-files.ts';
import { AppError } from '../errors/app-error.ts';
import type { PublishedKeys } from '../signing-keys/published-keys.ts';
import type { ObjectStore } from '../storage/interface/object-store.ts';
import { sendStream } from '../storage/send-stream.ts';
import { writeArchive } from './archive.ts';
import { exportedFiles, type ExportedDocument } from './exported-files.ts';
import { exportPrefix, type StoredExport } from './rows/export-rows.ts';
import { waitForProof } from './trail.ts';

/** Size of a part of an archive in bytes. S3 takes 10,000 parts: archives of up to 160 GiB. */
const partBytes = 16 * 2 ** 20;
const dayMs = 86_400_000;

/** An export that a user asked for. */
export interface RequestedExport {
  readonly jobId: string;
  readonly owner: Owner;
  /** The server's id of the request, for the audit entry. */
  readonly requestId: string;
  readonly documentId: string;
  /** Whether the archive has the stored files of all versions. */
  readonly includeFile: boolean;
  readonly signal: AbortSignal;
}

/** An archive that a job has written. */
export interface WrittenExport extends StoredExport {
  /** SHA3-256 of the manifest, hex. */
  readonly manifestHash: string;
  /** Number of the last entry that is exported. */
  readonly through: number;
  /** Id of the entry that records the export. */
  readonly proofId: string;
}

interface EvidenceExportsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly store: ObjectStore;
  readonly custody: Pick<Custody, 'begin'>;
  readonly proofs: Proofs;
  readonly publishedKeys: PublishedKeys;
  readonly clock: Clock;
  /** Days for which an archive can be downloaded. */
  readonly exportDays: number;
}

export type EvidenceExports = ReturnType<typeof createEvidenceExports>;

/** Creates the service that writes the evidence of a document into archives. */
export function createEvidenceExports(options: EvidenceExportsOptions) {
  const { db, audit, store, custody, proofs, publishedKeys, clock, exportDays } = options;

  async function findContents(request: RequestedExport): Promise<ExportedDocument> {
    const { owner, documentId, includeFile } = request;
    const { files, away } = await db.asUser(owner, async (tx) => {
      await assertOwned(tx, owner, documentId);
      const found = includeFile ? await loadFiles(tx, owner, documentId) : [];
      return { files: found, away: await readMonthsAway(tx) };
    });
    const resource = { type: 'document', id: documentId };
    if (away.length > 0 && (await proofs.countMissingOfResource(owner, resource)) > 0) {
      throw new AppError('entry_archived');
    }
    const through = await proofs.findLastOfResource(readerFor(owner), resource);
    return { documentId, through, files };
  }

  function begin({ owner, documentId, requestId }: RequestedExport, file: StoredFile) {
    const { version, file_hash: fileHash } = file;
    const { userId: readerId } = owner;
    const reading = { owner, documentId, version, jobId: null, fileHash, readerId, requestId };
    return db.asUser(owner, (tx) =>
      custody.begin(tx, { ...reading, shareId: null, isPart: false }),
    );
  }

  /** Appends the entry that records an export, and resolves with its proof once it is sealed. */
  async function seal(request: RequestedExport, data: { manifestHash: string; through: number }) {
    const { owner, documentId, requestId } = request;
    audit.assertWritable(owner.userId);
    const entryId = await db.asService(async (tx) => {
      await lockDocument(tx, owner, documentId);
      return audit.append(tx, {
        action: 'document.exported',
        actor: { type: 'user', id: owner.userId },
        owner,
        resource: { type: 'document', id: documentId },
        requestId,
        data,
      });
    });
    return waitForProof(proofs, readerFor(owner), entryId);
  }

  /** Sends an archive to the object store, and aborts the upload if that fails. */
  async function send(key: string, chunks: AsyncIterable<Buffer>) {
    const uploadId = await store.createMultipart(key);
    try {
      const hash = createHash('sha3-256');
      const parts = await sendStream(store, { key, uploadId, partBytes }, hashed(hash, chunks));
      const { version } = await store.completeMultipart(key, uploadId, parts);
      const size = parts.reduce((sum, part) => sum + part.size, 0);
      return { objectVersion: version, size, hash: hash.digest('hex') };
    } catch (error) {
      await store.abortMultipart(key, uploadId).catch(() => undefined);
      throw error;
    }
  }

  return {
    /** Throws not_found unless the document is the caller's own. */
    assertExportable: (caller: Owner, documentId: string): Promise<void> =>
      db.asUser(caller, (tx) => assertOwned(tx, caller, documentId)),

    /**
     * Writes the archive of a document into the object store, with every entry up to the one that
     * is the last now, and records the export in the document's trail. Throws not_found, as
     * `exportedFiles` does, entry_archived if entries are in a month that is away,
     * audit_backlog_full, or the reason of `signal`.
     */
    async write(request: RequestedExport): Promise<WrittenExport> {
      const { jobId, owner, documentId, signal } = request;
      const contents = await findContents(request);
      const { through } = contents;
      const reader = readerFor(owner);
      let sealed: { readonly manifestHash: string; readonly proofId: string } | undefined;
      const archive = writeArchive({
        folder: `evidence-${documentId}`,
        at: clock(),
        files: exportedFiles(contents, {
          proofs,
          publishedKeys,
          store,
          begin: (file) => begin(request, file),
          reader,
          signal,
        }),
        async seal(manifestHash) {
          const proof = await seal(request, { manifestHash, through });
          sealed = { manifestHash, proofId: proof.id };
          return proof;
        },
      });
      const storageKey = `${exportPrefix}${jobId}/${randomUUID()}.zip`;
      const chunks = Readable.from(archive, { objectMode: false, signal });
      const sent = await send(storageKey, chunks);
      if (sealed === undefined) throw new Error('the archive ended before its manifest');
      const expiresAt = new Date(clock().getTime() + exportDays * dayMs);
      return { jobId, documentId, storageKey, ...sent, ...sealed, through, expiresAt };
    },
  };
}

async function assertOwned(tx: Tx, owner: Owner, documentId: string): Promise<void> {
  const { userId } = await loadOwner(tx, owner, documentId);
  if (userId !== owner.userId) throw new AppError('not_found');
}

/** Returns the reader of the owner's own entries, whatever else the owner may read. */
function readerFor({ userId, tenantId }: Owner): EntryReader {
  return { userId, tenantId, roles: [] };
}

async function* hashed(
  hash: ReturnType<typeof createHash>,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, void> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}
