import { ClientError } from './client-error.ts';

/**
 * An earlier master key made something that was not there when that key was replaced: somebody who
 * has that key may have made it since. The code is document_unlisted or object_unlisted.
 */
export class UnlistedError extends ClientError {
  /** The id of the document or of the synchronised object. */
  readonly id: string;

  constructor(subject: 'document' | 'object', id: string) {
    super(`${subject}_unlisted`);
    this.id = id;
  }
}
