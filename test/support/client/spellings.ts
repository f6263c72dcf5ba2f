import type { Bytes } from '../../../client/bytes/bytes.ts';

/** The ways in which a key could show in what is sent. */
export function spellingsOfKey(key: Bytes): string[] {
  const bytes = Buffer.from(key);
  const base64 = bytes.toString('base64').replaceAll('=', '');
  return [bytes.toString('hex'), base64, bytes.toString('base64url')];
}

/** The same of recovery words: each two of them that follow each other. */
export function spellingsOfWords(words: string): string[] {
  const all = words.split(' ');
  return all.slice(1).map((word, index) => `${all[index]} ${word}`);
}
