import { ed25519 } from '@noble/curves/ed25519.js';
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import type { Identity } from './identity.ts';

/** Names the kind of what is signed, so that no signature serves for another kind. */
export type SignatureLabel =
  | 'Service_Author_Statement_v1'
  | 'Service_Identity_Change_v1'
  | 'Service_Identity_Possession_v1'
  | 'Service_Memory_Report_Signature_v1'
  | 'Service_Share_Signature_v1';

/** Signs a message of one kind with Ed25519: 64 bytes. */
export function sign(
  { signingSeed }: Pick<Identity, 'signingSeed'>,
  label: SignatureLabel,
  message: Bytes,
): Bytes {
  return new Uint8Array(ed25519.sign(labelled(label, message), signingSeed));
}

/** Returns whether a signature of a message of one kind is by the owner of a signing key. */
export function isSignedBy(
  { signingKey }: Pick<Identity, 'signingKey'>,
  label: SignatureLabel,
  { message, signature }: { readonly message: Bytes; readonly signature: Bytes },
): boolean {
  try {
    return ed25519.verify(signature, labelled(label, message), signingKey, { zip215: false });
  } catch {
    return false;
  }
}

/** Returns the bytes that a signature of a message of one kind is over. */
export function labelled(label: SignatureLabel, message: Bytes): Bytes {
  return concatBytes(utf8ToBytes(`${label}\0`), message);
}
