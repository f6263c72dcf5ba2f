import type { Bytes } from '../../../client/bytes/bytes.ts';

/** Returns the encodings in which a key could appear in what is sent. */
export function spellingsOfKey(key: Bytes): string[] {
  const bytes = Buffer.from(key);
  const base64 = bytes.toString('base64').replaceAll('=', '');
  return [bytes.toString('hex'), base64, bytes.toString('base64url')];
}

/**
 * Returns the texts that would reveal recovery words in what is sent: each pair of consecutive
 * words.
 */
export function spellingsOfWords(words: string): string[] {
  const all = words.split(' ');
  return all.slice(1).map((word, index) => `${all[index]} ${word}`);
}
