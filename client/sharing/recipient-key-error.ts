import { ClientError } from '../errors/client-error.ts';

/**
 * The vault showed another key of the recipient than the one that was expected. The code is
 * recipient_key_changed. Ask the recipient for the present fingerprint, over another channel than
 * the vault.
 */
export class RecipientKeyError extends ClientError {
  /** The fingerprint that was expected, 32 hex digits. */
  readonly expected: string;
  /** The fingerprint of the key that the vault showed. */
  readonly shown: string;

  constructor({ expected, shown }: { readonly expected: string; readonly shown: string }) {
    super('recipient_key_changed');
    this.expected = expected;
    this.shown = shown;
  }
}
