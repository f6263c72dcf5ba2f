import { concatBytes } from '@noble/hashes/utils.js';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { identityHash, type Identity, type PublicIdentity } from '../identity/identity.ts';
import { isSignedBy, sign } from '../identity/signature.ts';
import { encodeVersion } from '../keys/document-key.ts';

const label = 'Service_Share_Signature_v1';

/** The parts of a share that its sharer signs. */
interface SignedShare {
  readonly documentId: string;
  /** The only version that is shared; null for all. */
  readonly version: number | null;
  /** The identity for which the document key is sealed. */
  readonly recipient: PublicIdentity;
  /** The sealed key of the document or of the version. */
  readonly wrappedKey: Bytes;
}

/** Signs a share; returns base64 of 64 bytes. */
export function signShare(sharer: Identity, share: SignedShare): string {
  return encodeBase64(sign(sharer, label, messageOf(share)));
}

/** Returns whether the owner of the identity `sharer` signed this share. */
export function isShareSignedBy(
  sharer: PublicIdentity,
  share: SignedShare & { readonly signature: string },
): boolean {
  const signature = decodeBase64(share.signature);
  return isSignedBy(sharer, label, { message: messageOf(share), signature });
}

function messageOf({ documentId, version, recipient, wrappedKey }: SignedShare): Bytes {
  const shared = encodeVersion({ documentId, version: version ?? 0 });
  return concatBytes(shared, identityHash(recipient), wrappedKey);
}
