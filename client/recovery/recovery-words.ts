import { randomBytes } from '@noble/hashes/utils.js';
import { entropyToMnemonic, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import type { Bytes } from '../bytes/bytes.ts';
import { RecoveryWordsError } from './recovery-words-error.ts';

const entropyBytes = 32;
const wordCount = 24;

const known: ReadonlySet<string> = new Set(wordlist);

/** 24 English words of BIP 39 with single spaces between. `entropy` is for test vectors only. */
export function createRecoveryWords(entropy: Bytes = randomBytes(entropyBytes)): string {
  return entropyToMnemonic(entropy, wordlist);
}

/**
 * The one form of words that someone typed: NFKD, lower case, single spaces. Throws
 * RecoveryWordsError for what are no 24 words of the list, naming the places of those that are not
 * on it, and for a wrong checksum. No error holds a word.
 */
export function parseRecoveryWords(typed: string): string {
  const words = splitWords(typed);
  if (words.length !== wordCount) throw new RecoveryWordsError('recovery_words_incomplete');
  const unknown = placesOf(words, (word) => !known.has(word));
  if (unknown.length > 0) throw new RecoveryWordsError('recovery_words_unknown', unknown);
  const phrase = words.join(' ');
  if (!validateMnemonic(phrase, wordlist)) throw new RecoveryWordsError('recovery_words_invalid');
  return phrase;
}

/** A rehearsal: throws RecoveryWordsError with the places where other words were typed. */
export function compareRecoveryWords(expected: string, typed: string): void {
  const words = splitWords(typed);
  const expectedWords = splitWords(expected);
  if (words.length !== expectedWords.length) {
    throw new RecoveryWordsError('recovery_words_incomplete');
  }
  const different = placesOf(words, (word, index) => word !== expectedWords[index]);
  if (different.length > 0) throw new RecoveryWordsError('recovery_words_differ', different);
}

function splitWords(typed: string): string[] {
  const normalized = typed.normalize('NFKD').toLowerCase().trim();
  return normalized.split(/\s+/u);
}

/** Counted from 1, as on a sheet of paper. */
function placesOf(words: string[], isWrong: (word: string, index: number) => boolean): number[] {
  return words.flatMap((word, index) => (isWrong(word, index) ? [index + 1] : []));
}
