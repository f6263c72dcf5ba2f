import { encodeBase64 } from '../bytes/base64.ts';
import { ClientError } from '../errors/client-error.ts';
import { createFileHeader } from '../files/header.ts';
import { createDocumentKey, wrapDocumentKey } from '../keys/document-key.ts';
import { VaultError } from '../errors/vault-error.ts';
import { planUpload } from './plan.ts';
import { noResume, type ResumeState, type ResumeStore, type StartRecord } from './resume.ts';
import type { RunningUpload, SavedUpload } from './saved-upload.ts';
import type { UploadOptions } from './send-parts.ts';
import type { Uploads } from './uploads.ts';

const giveUpSeconds = 5;

/** Begins an upload. Its journal is begun before its session, which is found again by its key. */
export async function beginUpload(
  uploads: Uploads,
  { source, masterKey, versionOf, resume = noResume, signal }: UploadOptions,
): Promise<RunningUpload> {
  const plan = planUpload(source.size, await uploads.config(signal));
  const documentKey = versionOf?.documentKey ?? createDocumentKey();
  const header = await createFileHeader(documentKey);
  const start: StartRecord = {
    type: 'start',
    version: 2,
    idempotencyKey: crypto.randomUUID(),
    wrappedKey: encodeBase64(await wrapDocumentKey(masterKey, documentKey)),
    header: encodeBase64(header.encoded),
    plaintextSize: source.size,
    ...plan,
    ...(versionOf === undefined ? {} : { documentId: versionOf.documentId }),
  };
  await resume.append(start);
  const begun = {
    start,
    sessionId: undefined,
    digests: new Map(),
    sent: new Set<number>(),
    storagePath: undefined,
    documentKey,
    header,
  };
  try {
    return await withSession(uploads, begun, resume, signal);
  } catch (error) {
    if (!(error instanceof VaultError)) await giveUpUpload(uploads, begun, resume);
    throw error;
  }
}

/** The session of an upload, made unless it was, and recorded unless it is. */
export async function withSession(
  uploads: Uploads,
  upload: SavedUpload,
  resume: ResumeStore,
  signal?: AbortSignal,
): Promise<RunningUpload> {
  if (upload.sessionId !== undefined) return { ...upload, sessionId: upload.sessionId };
  const sessionId = await createSession(uploads, upload.start, signal);
  await resume.append({ type: 'created', sessionId });
  return { ...upload, sessionId };
}

/** Gives an upload up. Its session expires anyway, so that a vault that refuses is no harm. */
export async function abandonUpload(
  uploads: Uploads,
  { start, sessionId }: ResumeState,
  signal?: AbortSignal,
): Promise<void> {
  try {
    // Under the same key the vault tells which session it made, if the answer was lost.
    await uploads.abort(sessionId ?? (await createSession(uploads, start, signal)), signal);
  } catch (error) {
    if (!(error instanceof VaultError || error instanceof ClientError)) throw error;
  }
}

/**
 * Of an upload that failed: what is in no journal can nobody go on with, and until it expires it would count
 * as open. Never throws, and takes a few seconds at most.
 */
export async function giveUpUpload(
  uploads: Uploads,
  upload: ResumeState,
  resume: ResumeStore,
): Promise<void> {
  if (resume !== noResume) return;
  const signal = AbortSignal.timeout(giveUpSeconds * 1000);
  await abandonUpload(uploads, upload, signal).catch(() => undefined);
}

/** The same however often it is asked for the same upload within a day. */
async function createSession(
  uploads: Uploads,
  { idempotencyKey, encryptedSize, totalParts }: StartRecord,
  signal: AbortSignal | undefined,
): Promise<string> {
  const file = {
    fileName: `${idempotencyKey}.bin`,
    fileSize: encryptedSize,
    mimeType: 'application/octet-stream',
    totalParts,
  };
  return (await uploads.create(file, idempotencyKey, signal)).sessionId;
}
