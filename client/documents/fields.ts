import { z } from 'zod';

/**
 * Timeout of requests that create a document or version from an uploaded file: the vault hashes the
 * whole file before it responds.
 */
export const hashingTimeoutSeconds = 300;

export const DocumentStatus = z.enum(['PENDING', 'SEALED', 'EXPIRED']);

/** SHA3-256 of an encrypted file as the vault stores it, 64 hex digits. */
export const FileHash = z.string().regex(/^[0-9a-f]{64}$/);

export function documentPath(id: string): string {
  return `/v1/documents/${encodeURIComponent(id)}`;
}
