import { ClientError } from '../errors/client-error.ts';

/**
 * The vault showed another identity than the one that was expected. The code is
 * recipient_key_changed or sharer_key_changed, or identity_taken for one that belongs to another
 * person. Ask that person for the present fingerprint, over another channel than the vault.
 */
export class IdentityError extends ClientError {
  /**
   * The fingerprint that was expected, 32 hex digits; undefined if the user confirmed none of this
   * person.
   */
  readonly expected: string | undefined;
  /** The fingerprint that the vault showed; undefined for a share that nobody signed. */
  readonly shown: string | undefined;
  /** The e-mail address under which the user confirmed what was shown, if it is another one. */
  readonly owner: string | undefined;

  constructor(
    code: 'recipient_key_changed' | 'sharer_key_changed' | 'identity_taken',
    { expected, shown, owner }: Pick<IdentityError, 'expected' | 'shown'> & Partial<IdentityError>,
  ) {
    super(code);
    this.expected = expected;
    this.shown = shown;
    this.owner = owner;
  }
}
