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
/** Sizes in bytes. */
export type UploadConfig = z.output<typeof UploadConfig>;

const UploadSession = z.object({ sessionId: z.uuid(), expiresAt: z.iso.datetime() });
export type UploadSession = z.output<typeof UploadSession>;

const UploadStatus = z.object({
  status: z.string(),
  uploadedParts: z.int(),
  totalParts: z.int(),
  /** Where the file lies, once the upload is completed. */
  fileKey: z.string().optional(),
});
export type UploadStatus = z.output<typeof UploadStatus>;

const CompletedUpload = z.object({ fileKey: z.string() });

export interface NewUpload {
  readonly fileName: string;
  readonly fileSize: number;
  readonly mimeType: string;
  readonly totalParts: number;
}

export interface Part {
  readonly sessionId: string;
  /** From 1. */
  readonly number: number;
  readonly bytes: Bytes;
  /** Of the bytes; the server compares. */
  readonly sha256: Bytes;
  readonly signal?: AbortSignal;
}

/** An aborted signal ends the wait for the answer; what was asked may be done all the same. */
export interface Uploads {
  config(signal?: AbortSignal): Promise<UploadConfig>;
  /**
   * VaultError 429 quota_exceeded.
   * @param idempotencyKey asked under the same within a day, the vault answers the same session.
   */
  create(file: NewUpload, idempotencyKey?: string, signal?: AbortSignal): Promise<UploadSession>;
  /** May be repeated with the same bytes. VaultError 409 part_conflict with others. */
  putPart(part: Part): Promise<void>;
  /** Resolves to the storage path of the file. VaultError 409 session_closed the second time. */
  complete(sessionId: string, signal?: AbortSignal): Promise<string>;
  status(sessionId: string, signal?: AbortSignal): Promise<UploadStatus>;
  abort(sessionId: string, signal?: AbortSignal): Promise<void>;
}

export function createUploads({ http }: { http: Http }): Uploads {
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
