import { utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';

/** Maximum bytes of an entry's text; the signer refuses longer texts. */
const maxEntryBytes = 65_536;

/**
 * An audit proof: one audit entry with everything that is needed to verify it without the vault.
 */
export const AuditProof = z.object({
  /** UUID of the entry, in lower case. */
  id: z.guid().lowercase(),
  /** JSON in the canonical form of RFC 8785, at most 65,536 bytes of UTF-8. */
  entryCanonical: z.string().min(2).refine(isEncodable),
  /** SHA3-256 of `entryCanonical` in UTF-8, 64 hex digits. */
  entryHash: z.string().regex(/^[0-9a-f]{64}$/),
  /** ECDSA P-256 signature with SHA3-256 over `entryCanonical`, DER, base64. */
  hsmSignature: Base64(80),
  /**
   * Id of the signing key: the first 16 bytes of the SHA-256 of the public key's DER, 32 hex
   * digits.
   */
  hsmKeyId: z.string().regex(/^[0-9a-f]{32}$/),
  /** The public half of the signing key: SubjectPublicKeyInfo, DER, base64. */
  publicKey: Base64(512),
});
export type AuditProof = z.output<typeof AuditProof>;

function isEncodable(text: string): boolean {
  const hasNoUtf8 = !text.isWellFormed() || text.includes('\0');
  return !hasNoUtf8 && utf8ToBytes(text).length <= maxEntryBytes;
}

function Base64(maxBytes: number) {
  const maxCharacters = Math.ceil(maxBytes / 3) * 4;
  return z
    .string()
    .max(maxCharacters)
    .refine((text) => byteCount(text) <= maxBytes);
}

/** Returns the number of bytes; Infinity for text that is not base64. */
function byteCount(text: string): number {
  try {
    return decodeBase64(text).length;
  } catch {
    return Infinity;
  }
}
