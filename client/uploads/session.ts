import { encodeBase64 } from '../bytes/base64.ts';
import { ClientError } from '../errors/client-error.ts';
import { createFileHeader } from '../files/header.ts';
import {
  createDocumentKey,
  deriveFileKey,
  encodeId,
  wrapDocumentKey,
} from '../keys/document-key.ts';
import { VaultError } from '../errors/vault-error.ts';
import { planUpload } from './plan.ts';
import { noResume, type ResumeState, type ResumeStore, type StartRecord } from './resume.ts';
import type { NextVersion, RunningUpload, SavedUpload } from './saved-upload.ts';
import type { UploadOptions } from './send-parts.ts';
import type { Uploads } from './uploads.ts';

const giveUpSeconds = 5;

/**
 * Begins an upload: adds the first record to the journal, then creates the upload session. If the
 * response is lost, the idempotency key in the journal finds the upload session again.
 */
export async function beginUpload(
  uploads: Uploads,
  { source, masterKey, versionOf, resume = noResume, signal }: UploadOptions,
): Promise<RunningUpload> {
  const plan = planUpload(source.size, await uploads.config(signal));
  const { documentId, version, documentKey = createDocumentKey() } = versionOf ?? newDocument();
  const name = { documentId, version };
  const context = encodeId(documentId);
  const fileKey = await deriveFileKey({ documentKey }, name);
  const header = await createFileHeader(fileKey);
  const start: StartRecord = {
    type: 'start',
    format: 3,
    idempotencyKey: crypto.randomUUID(),
    wrappedKey: encodeBase64(await wrapDocumentKey(masterKey, context, documentKey)),
    header: encodeBase64(header.encoded),
    plaintextSize: source.size,
    ...plan,
    ...name,
  };
  await resume.append(start);
  const begun = {
    start,
    sessionId: undefined,
    digests: new Map(),
    sent: new Set<number>(),
    storagePath: undefined,
    documentKey,
    fileKey,
    header,
  };
  try {
    return await withSession(uploads, begun, resume, signal);
  } catch (error) {
    if (!(error instanceof VaultError)) await giveUpUpload(uploads, begun, resume);
    throw error;
  }
}

function newDocument(): NextVersion {
  return { documentId: crypto.randomUUID(), version: 1, documentKey: undefined };
}

/** Creates the upload session of an upload and records it, unless that was done before. */
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

/**
 * Aborts an upload. Errors of the vault and network errors are ignored, since the upload session
 * expires anyway.
 */
export async function abandonUpload(
  uploads: Uploads,
  { start, sessionId }: ResumeState,
  signal?: AbortSignal,
): Promise<void> {
  try {
    // If a response was lost, the idempotency key finds the upload session that the vault created.
    await uploads.abort(sessionId ?? (await createSession(uploads, start, signal)), signal);
  } catch (error) {
    if (!(error instanceof VaultError || error instanceof ClientError)) throw error;
  }
}

/**
 * Aborts a failed upload, unless it has a journal. Without a journal, nothing could resume the
 * upload, and it would count as open until it expires. Never throws, and takes 5 seconds at most.
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

/**
 * Creates the upload session of an upload. Within a day, repeated calls with the same idempotency
 * key resolve with the same upload session.
 */
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
