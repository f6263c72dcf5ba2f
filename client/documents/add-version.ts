import { commitmentOf } from '../content/commitment.ts';
import { ClientError } from '../errors/client-error.ts';
import { hasCode } from '../errors/vault-error.ts';
import { wrapEarlierKey } from '../keys/document-key.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { noResume } from '../uploads/resume.ts';
import type { UploadDependencies, UploadOptions } from '../uploads/send-parts.ts';
import { isSpent } from '../uploads/spent-upload.ts';
import { uploadFile, type UploadedFile } from '../uploads/upload.ts';
import { assertDescription, encryptMetadata, hashMetadata, type Metadata } from './metadata.ts';
import {
  openDocument,
  openVersionOf,
  stateOf,
  type OpenDependencies,
  type OpenedDocument,
} from './open-document.ts';
import type { DocumentVersion } from './versions.ts';

/** A share of all versions of a document, by its id and the recipient's. */
export interface DocumentShare {
  readonly id: string;
  readonly recipientId: string;
}

/** The outcome of making the shares of a document anew. */
export interface RenewedShares {
  /** The new shares. */
  readonly renewed: readonly DocumentShare[];
  /**
   * Shares whose recipients cannot open what comes next: the user has not confirmed their keys on
   * this device, or they have other keys now. Share with them again.
   */
  readonly unconfirmed: readonly DocumentShare[];
}

export interface AddVersionDependencies extends UploadDependencies, OpenDependencies {
  /** Makes the shares of a document anew after the document got another key. */
  readonly renewShares: (documentId: string) => Promise<RenewedShares>;
}

/** A version that was added. */
export type AddedVersion = DocumentVersion & {
  /** Present if the document got a new key, which its recipients need. */
  readonly shares?: RenewedShares;
};

export interface AddVersionOptions extends Omit<UploadOptions, 'versionOf'>, MasterKeys {
  /** The id of the document. */
  readonly id: string;
  /** The default is the document's present name. */
  readonly name?: string;
  /** The default is the document's present media type. */
  readonly mediaType?: string;
}

/**
 * Encrypts a file as the next version of a document, uploads it, makes it the current version and
 * clears the journal. Anyone who has the document key, such as the recipients of shares, can open
 * the new version. If a rekey took place since that key was made, the document gets a new one, and
 * its shares are made anew. Throws shares_outdated if only the latter failed: the version is added
 * then, and `Sharing.renewShares` can be called again. Throws master_key_outdated, version_conflict
 * if another client added a version meanwhile, file_hash_mismatch if the vault stored other bytes
 * than the client sent, what `openDocument` and `uploadFile` throw, VaultError 409 duplicate_hash
 * or too_many_versions, and TypeError for a name or media type that is not a string, before
 * anything is sent.
 */
export async function addVersion(
  dependencies: AddVersionDependencies,
  { id, earlierKeys, name, mediaType, ...options }: AddVersionOptions,
): Promise<AddedVersion> {
  const { masterKey, resume = noResume } = options;
  const owned = { id, masterKey, earlierKeys };
  const generation = await dependencies.memory.generationOf(masterKey);
  const before = await openDocument(dependencies, owned);
  const { documentId, place } = before;
  const description = (metadata: Metadata) => ({
    name: name ?? metadata.name,
    mediaType: mediaType ?? metadata.mediaType,
    keywords: metadata.keywords,
  });
  assertDescription(description(before.metadata));
  const version = before.version + 1;
  // The document key of the time of an earlier master key may be known to whoever has that one.
  const isKeyNew = place.keyGeneration !== generation;
  const documentKey = isKeyNew ? undefined : before.documentKey;
  const versionOf = { documentId, version, documentKey };
  const file = await uploadFile(dependencies, { ...options, versionOf });
  const earlierKey = isKeyNew
    ? await wrapEarlierKey(file.documentKey, documentId, before.documentKey)
    : undefined;
  const makeMetadata = async ({ document, metadata }: OpenedDocument) => {
    // A rekey may have taken place during the upload.
    await dependencies.memory.generationOf(masterKey);
    return encryptMetadata(
      { masterKey, documentKey: file.documentKey, earlierKey },
      {
        documentId,
        version,
        change: 0,
        previous: hashMetadata(document.encryptedMetadata),
        keyGeneration: generation,
      },
      {
        ...description(metadata),
        size: file.size,
        fileHash: file.fileHash,
        content: file.content,
      },
    );
  };
  try {
    const added = await addOrFind(dependencies, owned, { file, before, makeMetadata });
    await resume.clear();
    if (added.fileHash !== file.fileHash) throw new ClientError('file_hash_mismatch');
    return isKeyNew ? { ...added, shares: await renew(dependencies, documentId) } : added;
  } catch (error) {
    if (isSpent(error) || isConflict(error)) await resume.clear();
    throw error;
  }
}

async function renew(
  { renewShares }: AddVersionDependencies,
  documentId: string,
): Promise<RenewedShares> {
  try {
    return await renewShares(documentId);
  } catch (cause) {
    throw new ClientError('shares_outdated', { cause });
  }
}

interface Addition {
  readonly file: UploadedFile;
  /** The document as it was before the upload. */
  readonly before: OpenedDocument;
  readonly makeMetadata: (current: OpenedDocument) => Promise<string>;
}

/**
 * Adds the version, also if the metadata of the version before changed during the upload. If an
 * earlier call added it and the response to that call was lost, resolves with the existing version.
 */
async function addOrFind(
  dependencies: OpenDependencies,
  owned: MasterKeys & { readonly id: string },
  { file, before, makeMetadata }: Addition,
): Promise<DocumentVersion> {
  const { documents, memory } = dependencies;
  let current = before;
  for (;;) {
    const { storagePath, documentId, version, fileHash } = file;
    try {
      const encryptedMetadata = await makeMetadata(current);
      const contentCommitment = await commitmentOf(file);
      const request = { encryptedMetadata, storagePath, contentCommitment };
      const added = await documents.addVersion(documentId, request, current.etag);
      if (added.version !== version) throw new ClientError('version_mismatch');
      await memory.madeDocument(documentId, stateOf({ version, change: 0 }, encryptedMetadata));
      return added;
    } catch (error) {
      const hasChanged = hasCode(error, 'precondition_failed');
      if (!hasChanged && !isSpent(error)) throw error;
      const { etag } = current;
      current = await openDocument(dependencies, owned);
      if (current.version < version && hasChanged && current.etag !== etag) continue;
      for await (const existing of documents.versions(documentId)) {
        if (existing.version !== version || existing.fileHash !== fileHash) continue;
        // Metadata that does not open, or is of another file, is none that this client made.
        await openVersionOf(dependencies, current, version);
        return existing;
      }
      throw hasChanged ? new ClientError('version_conflict', { cause: error }) : error;
    }
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof ClientError && error.code === 'version_conflict';
}
