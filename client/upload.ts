import { encodeBase64 } from './base64.ts';
import type { Bytes } from './bytes.ts';
import { ClientError } from './client-error.ts';
import { createDocumentKey, wrapDocumentKey } from './document-key.ts';
import { createFileHeader } from './file-header.ts';
import { NO_RESUME, replayRecords } from './resume.ts';
import type { StartRecord } from './resume.ts';
import { isResumable, isStale, openSavedUpload } from './saved-upload.ts';
import type { RunningUpload } from './saved-upload.ts';
import { sendParts } from './send-parts.ts';
import type { UploadDependencies, UploadOptions } from './send-parts.ts';
import { planUpload } from './upload-plan.ts';
import type { Uploads } from './uploads.ts';
import { VaultError } from './vault-error.ts';

const MAX_COMPLETIONS = 3;

export interface UploadedFile {
  readonly storagePath: string;
  readonly documentKey: Bytes;
  /** SHA3-256 of the encrypted bytes that were sent, 64 hex digits. */
  readonly fileHash: string;
}

/**
 * Encrypts a file and uploads it in parallel parts. A saved upload goes on if every part that was
 * ever sent encrypts to the same bytes again; if not, it is aborted and the file gets a new key.
 */
export async function uploadFile(
  dependencies: UploadDependencies,
  options: UploadOptions,
): Promise<UploadedFile> {
  const { uploads } = dependencies;
  const { source, masterKey, versionOf, resume = NO_RESUME } = options;

  const state = replayRecords(await resume.load());
  if (state !== undefined) {
    const { sessionId } = state.start;
    try {
      const file = { masterKey, plaintextSize: source.size, versionOf };
      const saved = await openSavedUpload(state, file);
      if (saved !== undefined && isResumable(saved, await uploads.status(sessionId))) {
        return await sendFile(dependencies, options, saved);
      }
    } catch (error) {
      if (!isStale(error)) throw error;
    }
    await abortQuietly(uploads, sessionId);
  }
  await resume.clear();
  return sendFile(dependencies, options, await startUpload(uploads, options));
}

async function startUpload(
  uploads: Uploads,
  { source, masterKey, versionOf, resume = NO_RESUME }: UploadOptions,
): Promise<RunningUpload> {
  const plan = planUpload(source.size, await uploads.config());
  const documentKey = versionOf?.documentKey ?? createDocumentKey();
  const header = await createFileHeader(documentKey);
  const { sessionId } = await uploads.create({
    fileName: `${crypto.randomUUID()}.bin`,
    fileSize: plan.encryptedSize,
    mimeType: 'application/octet-stream',
    totalParts: plan.totalParts,
  });
  const start: StartRecord = {
    type: 'start',
    version: 1,
    sessionId,
    wrappedKey: encodeBase64(await wrapDocumentKey(masterKey, documentKey)),
    header: encodeBase64(header.encoded),
    plaintextSize: source.size,
    partSize: plan.partSize,
    totalParts: plan.totalParts,
    ...(versionOf === undefined ? {} : { documentId: versionOf.documentId }),
  };
  await resume.append(start);
  return {
    start,
    digests: new Map(),
    sent: new Set(),
    storagePath: undefined,
    documentKey,
    header,
  };
}

async function sendFile(
  dependencies: UploadDependencies,
  options: UploadOptions,
  upload: RunningUpload,
): Promise<UploadedFile> {
  const { resume = NO_RESUME } = options;
  const { documentKey, start } = upload;
  const fileHash = await sendParts(dependencies, options, upload);
  if (upload.storagePath !== undefined) {
    return { storagePath: upload.storagePath, documentKey, fileHash };
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      const storagePath = await complete(dependencies.uploads, start.sessionId);
      await resume.append({ type: 'completed', storagePath });
      return { storagePath, documentKey, fileHash };
    } catch (error) {
      const lost = lostParts(error);
      if (lost.size === 0 || attempt === MAX_COMPLETIONS) throw error;
      const numbers = Array.from({ length: start.totalParts }, (_, index) => index + 1);
      const sent = new Set(numbers.filter((number) => !lost.has(number)));
      await sendParts(dependencies, options, { ...upload, sent });
    }
  }
}

/** Parts that the vault recorded and its store no longer has; it wants them again. */
function lostParts(error: unknown): ReadonlySet<number> {
  if (!(error instanceof VaultError) || error.code !== 'invalid_parts') return new Set();
  const numbers = error.details.map(({ path }) => Number(/^parts\.(\d+)$/.exec(path)?.[1]));
  return new Set(numbers.filter((number) => Number.isInteger(number)));
}

/** The answer to an earlier try may be lost: then the session says where the file lies. */
async function complete(uploads: Uploads, sessionId: string): Promise<string> {
  try {
    return await uploads.complete(sessionId);
  } catch (error) {
    if (!(error instanceof VaultError) || error.status !== 409) throw error;
    const { status, fileKey } = await uploads.status(sessionId);
    if (status !== 'COMPLETED' || fileKey === undefined) throw error;
    return fileKey;
  }
}

/** It expires anyway. */
async function abortQuietly(uploads: Uploads, sessionId: string): Promise<void> {
  try {
    await uploads.abort(sessionId);
  } catch (error) {
    if (!(error instanceof VaultError || error instanceof ClientError)) throw error;
  }
}
