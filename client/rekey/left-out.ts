import { ClientError, type ClientErrorCode } from '../errors/client-error.ts';

/** The codes of errors that say that one document or object alone is not believed. */
const codesOfOne: ReadonlySet<ClientErrorCode> = new Set([
  'document_mismatch',
  'document_unlisted',
  'invalid_leaf',
  'invalid_metadata',
  'object_unlisted',
]);

/** Something that a rekey does not list, because the client does not believe it. */
export interface LeftOut {
  readonly subject: 'document' | 'object';
  readonly id: string;
  /** Why it is not believed: such as invalid_metadata, document_unlisted or object_unlisted. */
  readonly code: ClientErrorCode;
}

/** Returns what is left out of the list because of an error, and throws every other error. */
export function leaveOut(subject: LeftOut['subject'], id: string, error: unknown): LeftOut {
  if (!(error instanceof ClientError) || !codesOfOne.has(error.code)) throw error;
  return { subject, id, code: error.code };
}
