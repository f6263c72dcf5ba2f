import { VaultError } from '../errors/vault-error.ts';

const codes = new Set(['duplicate_hash', 'stored_file_not_found']);

/**
 * Whether this says that the uploaded file will never become a document or a version, now or later,
 * unless it is one already: the answer to an earlier try may be lost.
 */
export function isSpent(error: unknown): boolean {
  return error instanceof VaultError && codes.has(error.code);
}
