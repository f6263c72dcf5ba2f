import { decodeBase64 } from './base64.ts';
import type { Bytes } from './bytes.ts';
import { ClientError } from './client-error.ts';
import { unwrapDocumentKey } from './document-key.ts';
import { parseFileHeader, verifyCommitment } from './file-header.ts';
import type { FileHeader } from './file-header.ts';
import type { ResumeState } from './resume.ts';
import { isPassing } from './retry.ts';
import type { StoredFile } from './stored-file.ts';
import type { UploadStatus } from './uploads.ts';
import { VaultError } from './vault-error.ts';

const LOST_STATUSES = new Set([400, 404, 409, 410]);

/** An upload under way, whether it has just begun or was found in a journal. */
export interface RunningUpload extends ResumeState {
  /** SHA-256 by number of every part that was ever encrypted; grows as parts are. */
  readonly digests: Map<number, string>;
  readonly documentKey: Bytes;
  readonly header: FileHeader;
}

interface SavedFile {
  readonly masterKey: Bytes;
  readonly plaintextSize: number;
  readonly versionOf?: Pick<StoredFile, 'documentId' | 'documentKey'> | undefined;
}

/** Undefined if the journal is of a file of another size, of another user or for another document. */
export async function openSavedUpload(
  state: ResumeState,
  { masterKey, plaintextSize, versionOf }: SavedFile,
): Promise<RunningUpload | undefined> {
  const { start } = state;
  if (start.plaintextSize !== plaintextSize) return undefined;
  if (start.documentId !== versionOf?.documentId) return undefined;
  try {
    const documentKey =
      versionOf?.documentKey ??
      (await unwrapDocumentKey(masterKey, decodeBase64(start.wrappedKey)));
    const header = parseFileHeader(decodeBase64(start.header));
    await verifyCommitment(documentKey, header);
    return { ...state, digests: new Map(state.digests), documentKey, header };
  } catch (error) {
    if (error instanceof ClientError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether a saved upload can go on with its session. */
export function isResumable(state: ResumeState, session: UploadStatus): boolean {
  return (
    session.totalParts === state.start.totalParts &&
    (session.status === 'IN_PROGRESS' || session.status === 'COMPLETED')
  );
}

/** Whether this error means that the saved upload is lost, but not the file. */
export function isStale(error: unknown): boolean {
  if (error instanceof ClientError) return error.code === 'source_changed';
  return error instanceof VaultError && LOST_STATUSES.has(error.status) && !isPassing(error);
}
