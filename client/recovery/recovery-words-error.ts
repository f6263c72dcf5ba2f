import { ClientError, type ClientErrorCode } from '../errors/client-error.ts';

type RecoveryWordsCode = Extract<ClientErrorCode, `recovery_words_${string}`>;

/** An error in recovery words that the user typed. The error never contains any of the words. */
export class RecoveryWordsError extends ClientError {
  /** Positions of the wrong words, counted from 1; empty if the words are wrong as a whole. */
  readonly places: readonly number[];

  constructor(code: RecoveryWordsCode, places: readonly number[] = []) {
    super(code);
    this.places = places;
  }
}
