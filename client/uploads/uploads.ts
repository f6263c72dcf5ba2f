import { z } from 'zod';
import { encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import type { Http } from '../http/http.ts';

const partTimeoutSeconds = 900;
const completeTimeoutSeconds = 300;

const UploadConfig = z.object({
  maxFileSize: z.int().positive(),
  minPartSize: z.int().positive(),
  maxPartSize: z.int().positive(),
  maxParts: z.int().positive(),
});
/** Limits of the vault, sizes in bytes. */
export type UploadConfig = z.output<typeof UploadConfig>;

/** An upload session, which collects the parts of one file. */
const UploadSession = z.object({ sessionId: z.uuid(), expiresAt: z.iso.datetime() });
export type UploadSession = z.output<typeof UploadSession>;

const UploadStatus = z.object({
  status: z.string(),
  uploadedParts: z.int(),
  totalParts: z.int(),
  /** Storage path of the file, once the upload is completed. */
  fileKey: z.string().optional(),
});
export type UploadStatus = z.output<typeof UploadStatus>;

const CompletedUpload = z.object({ fileKey: z.string() });

export interface NewUpload {
  readonly fileName: string;
  /** Bytes of the encrypted file. */
  readonly fileSize: number;
  readonly mimeType: string;
  readonly totalParts: number;
}

export interface Part {
  readonly sessionId: string;
  /** Counts from 1. */
  readonly number: number;
  readonly bytes: Bytes;
  /** SHA-256 of `bytes`, 32 bytes; the vault compares it with the received bytes. */
  readonly sha256: Bytes;
  readonly signal?: AbortSignal;
}

/**
 * The vault's upload sessions, step by step. Aborting a signal ends the wait for the response; the
 * vault may carry out the request nevertheless. Methods with a session id throw VaultError 404
 * not_found and, except `abort`, 410 session_expired.
 */
export interface Uploads {
  /** Resolves with the limits for uploads. */
  config(signal?: AbortSignal): Promise<UploadConfig>;
  /**
   * Creates an upload session. Throws VaultError 400 file_too_large or mime_type_not_allowed, and
   * 429 quota_exceeded.
   * @param idempotencyKey makes repeated calls within a day resolve with the same upload session.
   */
  create(file: NewUpload, idempotencyKey?: string, signal?: AbortSignal): Promise<UploadSession>;
  /**
   * Uploads a part. Idempotent for the same bytes; throws VaultError 409 part_conflict if the vault
   * already has other bytes for this part, and 400 invalid_part_size if a part of this size and the
   * other parts could not add up to the file.
   */
  putPart(part: Part): Promise<void>;
  /**
   * Completes the upload and resolves with the storage path of the file. Throws VaultError 409
   * session_closed if the upload is already completed, 400 invalid_parts if parts are missing, and
   * 400 parts_cannot_fit if only an abort helps.
   */
  complete(sessionId: string, signal?: AbortSignal): Promise<string>;
  /** Resolves with the state of an upload session. */
  status(sessionId: string, signal?: AbortSignal): Promise<UploadStatus>;
  /** Aborts an upload. Throws VaultError 409 session_completed if it is completed. */
  abort(sessionId: string, signal?: AbortSignal): Promise<void>;
}

export function createUploads({ http }: { readonly http: Http }): Uploads {
  const sessionPath = (sessionId: string) => `/v1/uploads/${sessionId}`;

  return {
    config(signal) {
      return http.json(UploadConfig, { method: 'GET', path: '/v1/uploads/config', signal });
    },

    create(file, idempotencyKey = crypto.randomUUID(), signal) {
      const request = { method: 'POST', path: '/v1/uploads', idempotencyKey, json: file } as const;
      return http.json(UploadSession, { ...request, signal });
    },

    async putPart({ sessionId, number, bytes, sha256, signal }) {
      await http.send({
        method: 'PUT',
        path: `${sessionPath(sessionId)}/parts/${number}`,
        headers: { 'content-digest': `sha-256=:${encodeBase64(sha256)}:` },
        bytes,
        timeoutSeconds: partTimeoutSeconds,
        signal,
      });
    },

    async complete(sessionId, signal) {
      const path = `${sessionPath(sessionId)}/complete`;
      const timeoutSeconds = completeTimeoutSeconds;
      const request = { method: 'POST', path, timeoutSeconds, repeatable: true } as const;
      return (await http.json(CompletedUpload, { ...request, signal })).fileKey;
    },

    status(sessionId, signal) {
      return http.json(UploadStatus, { method: 'GET', path: sessionPath(sessionId), signal });
    },

    async abort(sessionId, signal) {
      await http.send({ method: 'DELETE', path: sessionPath(sessionId), signal });
    },
  };
}
