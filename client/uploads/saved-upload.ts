import { decodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { parseFileHeader, verifyCommitment, type FileHeader } from '../files/header.ts';
import { isPassing } from '../http/retry.ts';
import {
  deriveFileKey,
  encodeId,
  unwrapDocumentKey,
  type VersionName,
} from '../keys/document-key.ts';
import { VaultError } from '../errors/vault-error.ts';
import type { ResumeState } from './resume.ts';
import type { UploadStatus } from './uploads.ts';

const lostStatuses = new Set([400, 404, 409, 410]);

/** An upload that has just begun or was found in a journal. */
export interface SavedUpload extends ResumeState {
  /**
   * SHA-256 (hex) of every part that was ever encrypted, by part number. Parts are added when they
   * are encrypted.
   */
  readonly digests: Map<number, string>;
  readonly documentKey: Bytes;
  readonly fileKey: Bytes;
  readonly header: FileHeader;
}

/** An upload that has an upload session. */
export interface RunningUpload extends SavedUpload {
  readonly sessionId: string;
}

/** A version to upload. */
export interface NextVersion extends VersionName {
  /** The key of the document; undefined for a new one. */
  readonly documentKey: Bytes | undefined;
}

interface SavedFile {
  /** The present master key. */
  readonly masterKey: Bytes;
  readonly plaintextSize: number;
  readonly versionOf?: NextVersion | undefined;
}

/**
 * Opens a saved upload. Resolves with undefined if it belongs to a file of another size, to another
 * user or to another version, or if it was begun before a rekey: its key could be known to others.
 */
export async function openSavedUpload(
  state: ResumeState,
  { masterKey, plaintextSize, versionOf }: SavedFile,
): Promise<SavedUpload | undefined> {
  const { start } = state;
  if (start.plaintextSize !== plaintextSize) return undefined;
  if (!isOf(versionOf, start)) return undefined;
  try {
    const wrapped = decodeBase64(start.wrappedKey);
    const documentKey =
      versionOf?.documentKey ??
      (await unwrapDocumentKey(masterKey, encodeId(start.documentId), wrapped));
    const fileKey = await deriveFileKey({ documentKey }, start);
    const header = parseFileHeader(decodeBase64(start.header));
    await verifyCommitment(fileKey, header);
    return { ...state, digests: new Map(state.digests), documentKey, fileKey, header };
  } catch (error) {
    if (error instanceof ClientError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isOf(versionOf: NextVersion | undefined, { documentId, version }: VersionName): boolean {
  // Later versions are always uploaded for a document that exists.
  if (versionOf === undefined) return version === 1;
  return documentId === versionOf.documentId && version === versionOf.version;
}

/** Returns whether a saved upload can continue in its upload session. */
export function isResumable(state: ResumeState, session: UploadStatus): boolean {
  return (
    session.totalParts === state.start.totalParts &&
    (session.status === 'IN_PROGRESS' || session.status === 'COMPLETED')
  );
}

/**
 * Returns whether an error means that the saved upload cannot be resumed, but the file can be
 * uploaded from the beginning.
 */
export function isStale(error: unknown): boolean {
  if (error instanceof ClientError) return error.code === 'source_changed';
  return error instanceof VaultError && lostStatuses.has(error.status) && !isPassing(error);
}
