import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { deriveKey } from '../crypto/hkdf.ts';

const keywordLabel = 'Service_Keyword_v1';

/**
 * Hashes keywords for the vault, which stores no keyword in plaintext: HMAC-SHA-256 under a key
 * derived from the master key, 64 hex digits each, sorted and without duplicates, so that neither
 * order nor repetition discloses anything. Throws TypeError for a keyword that is blank or contains
 * a lone surrogate.
 */
export async function hashKeywords(
  masterKey: Bytes,
  keywords: readonly string[],
): Promise<string[]> {
  const key = await crypto.subtle.importKey(
    'raw',
    await deriveKey(masterKey, keywordLabel),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign'],
  );
  const normalized = normalizeKeywords(keywords);
  const hashes = await Promise.all(
    normalized.map(async (keyword) =>
      bytesToHex(new Uint8Array(await crypto.subtle.sign('HMAC', key, utf8ToBytes(keyword)))),
    ),
  );
  return hashes.sort();
}

/** Normalises keywords, sorted and without duplicates. Throws what `hashKeywords` throws. */
export function normalizeKeywords(keywords: readonly string[]): string[] {
  return [...new Set(keywords.map(normalizeKeyword))].toSorted();
}

/**
 * Normalises a keyword: NFKC, lower case, trimmed, each run of white space as one space. Throws
 * TypeError for a keyword that is blank or contains a lone surrogate.
 */
function normalizeKeyword(keyword: string): string {
  if (!keyword.isWellFormed()) throw new TypeError('A keyword contains a lone surrogate.');
  const normalized = keyword.normalize('NFKC').toLowerCase().trim().replaceAll(/\s+/gu, ' ');
  if (normalized === '') throw new TypeError('A keyword is empty.');
  return normalized;
}
