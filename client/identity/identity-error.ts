import { ClientError } from '../errors/client-error.ts';

/**
 * The vault showed another identity than the one that was expected. The code is
 * recipient_key_changed or sharer_key_changed. Ask that person for the present fingerprint, over
 * another channel than the vault.
 */
export class IdentityError extends ClientError {
  /** The fingerprint that was expected, 32 hex digits. */
  readonly expected: string;
  /** The fingerprint that the vault showed; undefined for a share that nobody signed. */
  readonly shown: string | undefined;

  constructor(
    code: 'recipient_key_changed' | 'sharer_key_changed',
    { expected, shown }: { readonly expected: string; readonly shown: string | undefined },
  ) {
    super(code);
    this.expected = expected;
    this.shown = shown;
  }
}
