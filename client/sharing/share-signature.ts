import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { identityHash, type Identity, type PublicIdentity } from '../identity/identity.ts';
import { isSignedBy, sign } from '../identity/signature.ts';

const label = 'Service_Share_Signature_v1';

/** The parts of a share that its sharer signs. */
interface SignedShare {
  readonly documentId: string;
  /** The identity for which the document key is sealed. */
  readonly recipient: PublicIdentity;
  /** The sealed document key. */
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

function messageOf({ documentId, recipient, wrappedKey }: SignedShare): Bytes {
  const id = utf8ToBytes(documentId.toLowerCase());
  return concatBytes(id, identityHash(recipient), wrappedKey);
}
