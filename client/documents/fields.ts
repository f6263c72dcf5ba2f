import { z } from 'zod';

/** The server hashes the whole file before it responds to a request that uses it. */
export const hashingTimeoutSeconds = 300;

export const DocumentStatus = z.enum(['PENDING', 'SEALED', 'EXPIRED']);

/** SHA3-256 of an encrypted file as the server has it, 64 hex digits. */
export const FileHash = z.string().regex(/^[0-9a-f]{64}$/);

export function documentPath(id: string): string {
  return `/v1/documents/${encodeURIComponent(id)}`;
}
