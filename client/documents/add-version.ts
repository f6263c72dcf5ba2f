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
  /** The id of the document. */
  readonly id: string;
  /** The default is the document's present name. */
  readonly name?: string;
  /** The default is the document's present media type. */
  readonly mediaType?: string;
}

/**
 * Encrypts a file under the document's key, uploads it, makes it the current version and clears the
 * journal. Anyone who has the document key, such as the recipients of shares, can open the new
 * version. Throws file_hash_mismatch if the vault stored other bytes than the client sent, what
 * `openDocument` and `uploadFile` throw, VaultError 409 duplicate_hash or too_many_versions, and
 * TypeError for a name or media type that is not a string, before anything is sent.
 */
export async function addVersion(
  dependencies: UploadDependencies & { readonly documents: Documents },
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
