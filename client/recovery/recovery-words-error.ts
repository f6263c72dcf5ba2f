import { ClientError, type ClientErrorCode } from '../errors/client-error.ts';

type RecoveryWordsCode = Extract<ClientErrorCode, `recovery_words_${string}`>;

/** What is wrong with typed recovery words. It never holds one of them. */
export class RecoveryWordsError extends ClientError {
  /** Of the wrong words, counted from 1; none where it is the words as a whole. */
  readonly places: readonly number[];

  constructor(code: RecoveryWordsCode, places: readonly number[] = []) {
    super(code);
    this.places = places;
  }
}
