import { VaultError } from '../errors/vault-error.ts';

const codes = new Set(['document_exists', 'duplicate_hash', 'stored_file_not_found']);

/**
 * Returns whether an error means that the uploaded file cannot become a document or a version, now
 * or later. If the response to an earlier attempt was lost, the file may already be one.
 */
export function isSpent(error: unknown): boolean {
  return error instanceof VaultError && codes.has(error.code);
}
