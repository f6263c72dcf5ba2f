import { randomBytes } from '@noble/hashes/utils.js';
import { entropyToMnemonic, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import type { Bytes } from '../bytes/bytes.ts';
import { RecoveryWordsError } from './recovery-words-error.ts';

const entropyBytes = 32;
const wordCount = 24;

const known: ReadonlySet<string> = new Set(wordlist);

/**
 * Creates 24 English words (BIP 39), separated by single spaces. Pass `entropy` in tests with
 * vectors only.
 */
export function createRecoveryWords(entropy: Bytes = randomBytes(entropyBytes)): string {
  return entropyToMnemonic(entropy, wordlist);
}

/**
 * Returns typed words in their canonical form: NFKD, lower case, single spaces. Throws
 * RecoveryWordsError recovery_words_incomplete unless there are 24, recovery_words_unknown with the
 * positions of words that are not on the list, and recovery_words_invalid for a wrong checksum. No
 * error contains a word.
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

/**
 * Compares words that the user typed from paper with the expected ones. Throws RecoveryWordsError
 * recovery_words_incomplete, or recovery_words_differ with the positions that differ.
 */
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

/** Returns the positions of wrong words, counted from 1. */
function placesOf(words: string[], isWrong: (word: string, index: number) => boolean): number[] {
  return words.flatMap((word, index) => (isWrong(word, index) ? [index + 1] : []));
}
