import { ClientError } from '../errors/client-error.ts';
import { noResume } from '../uploads/resume.ts';
import type { UploadDependencies, UploadOptions } from '../uploads/send-parts.ts';
import { isSpent } from '../uploads/spent-upload.ts';
import { uploadFile } from '../uploads/upload.ts';
import type { Documents } from './documents.ts';
import { assertDescription, encryptMetadata } from './metadata.ts';
import { openDocument } from './open-document.ts';
import type { DocumentVersion, NewVersion } from './versions.ts';

export interface AddVersionOptions extends Omit<UploadOptions, 'versionOf'> {
  readonly id: string;
  /** As before unless given. */
  readonly name?: string;
  /** As before unless given. */
  readonly mediaType?: string;
}

/**
 * Encrypts and uploads a file under the document's key, makes it the current version, and clears the
 * journal. Who has the key, as those have whom the document is shared with, opens it too.
 * Throws file_hash_mismatch if the server has other bytes than the ones sent; TypeError, before any is
 * sent, for a name or media type that is none.
 */
export async function addVersion(
  dependencies: UploadDependencies & { documents: Documents },
  { id, name, mediaType, ...options }: AddVersionOptions,
): Promise<DocumentVersion> {
  const { documents } = dependencies;
  const { source, masterKey, earlierKeys, resume = noResume } = options;
  const versionOf = await openDocument({ documents }, { id, masterKey, earlierKeys });
  const { metadata, documentKey } = versionOf;
  const described = {
    name: name ?? metadata.name,
    mediaType: mediaType ?? metadata.mediaType,
  };
  assertDescription(described);
  const { storagePath, fileHash } = await uploadFile(dependencies, { ...options, versionOf });
  const changed = { ...described, size: source.size, fileHash };
  const encryptedMetadata = await encryptMetadata({ masterKey, documentKey }, changed);
  try {
    const added = await addOrFind(documents, id, { encryptedMetadata, storagePath }, fileHash);
    await resume.clear();
    if (added.fileHash !== fileHash) throw new ClientError('file_hash_mismatch');
    return added;
  } catch (error) {
    if (isSpent(error)) await resume.clear();
    throw error;
  }
}

async function addOrFind(
  documents: Documents,
  id: string,
  request: NewVersion,
  fileHash: string,
): Promise<DocumentVersion> {
  try {
    return await documents.addVersion(id, request);
  } catch (error) {
    if (!isSpent(error)) throw error;
    for await (const version of documents.versions(id)) {
      if (version.fileHash === fileHash) return version;
    }
    throw error;
  }
}
