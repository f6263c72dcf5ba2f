import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';
import type { AuditKey } from './audit-key.ts';
import { keyFingerprint, verifyProof } from './verify-proof.ts';

const keyIdDigits = 32;

/** The entry of a key's record, which vouches for the key. */
const KeyRecord = z.object({
  action: z.literal('key.created'),
  resource: z.object({ type: z.literal('key'), id: z.string() }),
  data: z.object({ purpose: z.literal('audit'), publicKey: z.string() }),
});

/**
 * Returns the ids of the audit keys that may be trusted: those that are pinned, and those for which
 * a trusted key vouches. `keys` is the vault's list of keys; `pinned` are fingerprints, whole or
 * their first 32 hex digits, that you compared with published ones or remember from earlier. A
 * compromised key vouches for no other key, so that keys beyond it are trusted only if pinned.
 */
export function verifyKeyChain(
  keys: readonly AuditKey[],
  { pinned }: { readonly pinned: readonly string[] },
): string[] {
  const trusted = new Set(pinned.map((fingerprint) => fingerprint.slice(0, keyIdDigits)));
  for (let before = -1; before < trusted.size;) {
    before = trusted.size;
    for (const key of keys) {
      if (isVouchedFor(key, { trustedKeys: [...trusted], keys })) trusted.add(key.keyId);
    }
  }
  return [...trusted];
}

/** Returns whether the record of a key is one of this key, signed by a trusted key. */
function isVouchedFor(
  { keyId, purpose, publicKey, record }: AuditKey,
  options: { readonly trustedKeys: readonly string[]; readonly keys: readonly AuditKey[] },
): boolean {
  if (purpose !== 'audit' || record === null || !verifyProof(record, options).valid) return false;
  const entry = KeyRecord.safeParse(JSON.parse(record.entryCanonical)).data;
  return (
    entry?.resource.id === keyId &&
    entry.data.publicKey === publicKey &&
    keyFingerprint(decodeBase64(publicKey)).startsWith(keyId)
  );
}
