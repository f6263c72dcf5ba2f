import type { Bytes } from '../bytes/bytes.ts';
import type { VersionName } from '../keys/document-key.ts';
import { hasCode, VaultError } from '../errors/vault-error.ts';
import { noResume, replayRecords } from './resume.ts';
import { isResumable, isStale, openSavedUpload, type RunningUpload } from './saved-upload.ts';
import {
  sendParts,
  type SentFile,
  type UploadDependencies,
  type UploadOptions,
} from './send-parts.ts';
import { abandonUpload, beginUpload, giveUpUpload, withSession } from './session.ts';
import type { Uploads } from './uploads.ts';

const maxCompletions = 3;

export interface UploadedFile extends VersionName, SentFile {
  /** Path under which the vault stores the file, for `Documents.create` and `addVersion`. */
  readonly storagePath: string;
  /** The key of the document, 32 bytes. */
  readonly documentKey: Bytes;
}

/**
 * Encrypts a file and uploads it in parts, several at a time. Resumes the upload in the journal if
 * every part that was ever sent encrypts to the same bytes again; otherwise aborts it and uploads
 * the file with a new key. A failed upload without a journal is aborted. Throws file_too_large,
 * source_changed if the file changes meanwhile, VaultError 429 quota_exceeded, network_error, and
 * the signal's reason if it is aborted.
 */
export async function uploadFile(
  dependencies: UploadDependencies,
  options: UploadOptions,
): Promise<UploadedFile> {
  const { uploads } = dependencies;
  const { source, masterKey, versionOf, resume = noResume, signal } = options;
  signal?.throwIfAborted();

  const state = replayRecords(await resume.load());
  if (state !== undefined) {
    try {
      const file = { masterKey, plaintextSize: source.size, versionOf };
      const saved = await openSavedUpload(state, file);
      if (saved !== undefined) {
        const upload = await withSession(uploads, saved, resume, signal);
        if (isResumable(upload, await uploads.status(upload.sessionId, signal))) {
          return await sendFile(dependencies, options, upload);
        }
      }
    } catch (error) {
      if (!isStale(error)) throw error;
    }
    await abandonUpload(uploads, state);
  }
  await resume.clear();
  const begun = await beginUpload(uploads, options);
  try {
    return await sendFile(dependencies, options, begun);
  } catch (error) {
    await giveUpUpload(uploads, begun, resume);
    throw error;
  }
}

async function sendFile(
  dependencies: UploadDependencies,
  options: UploadOptions,
  upload: RunningUpload,
): Promise<UploadedFile> {
  const { resume = noResume, signal } = options;
  const { documentKey, sessionId, start } = upload;
  const { documentId, version } = start;
  const sent = await sendParts(dependencies, options, upload);
  const file = { documentId, version, documentKey, ...sent };
  if (upload.storagePath !== undefined) return { ...file, storagePath: upload.storagePath };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const storagePath = await complete(dependencies.uploads, sessionId, signal);
      await resume.append({ type: 'completed', storagePath });
      return { ...file, storagePath };
    } catch (error) {
      const lost = lostParts(error);
      if (lost.size === 0 || attempt === maxCompletions) throw error;
      const numbers = Array.from({ length: start.totalParts }, (_, index) => index + 1);
      const kept = new Set(numbers.filter((number) => !lost.has(number)));
      await sendParts(dependencies, options, { ...upload, sent: kept });
    }
  }
}

/**
 * Returns the numbers of the parts that the vault recorded but its object store has lost. They must
 * be sent again.
 */
function lostParts(error: unknown): ReadonlySet<number> {
  if (!hasCode(error, 'invalid_parts')) return new Set();
  const numbers = error.details.map(({ path }) => Number(/^parts\.(\d+)$/.exec(path)?.[1]));
  return new Set(numbers.filter((number) => Number.isInteger(number)));
}

/**
 * Completes an upload and resolves with the storage path of the file. If an earlier attempt
 * completed it and the response was lost, reads the path from the upload session.
 */
async function complete(
  uploads: Uploads,
  sessionId: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  try {
    return await uploads.complete(sessionId, signal);
  } catch (error) {
    if (!(error instanceof VaultError) || error.status !== 409) throw error;
    const { status, fileKey } = await uploads.status(sessionId, signal);
    if (status !== 'COMPLETED' || fileKey === undefined) throw error;
    return fileKey;
  }
}
