import { utf8ToBytes } from '@noble/hashes/utils.js';
import canonicalize from 'canonicalize';
import { encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import type { AccountNames } from './account-names.ts';
import { fingerprintOf, type Identity, type PublicIdentity } from './identity.ts';
import { isSignedBy, sign } from './signature.ts';

/** An identity that becomes the one of an account. */
interface Publication extends AccountNames {
  readonly identity: PublicIdentity;
}

/** The identity that another one replaces. */
export interface Predecessor {
  /** The identity as the vault publishes it. */
  readonly published: PublicIdentity;
  /** Its private keys too; undefined if nobody has the private signing key. */
  readonly signer: Identity | undefined;
}

/**
 * Returns the signatures that the vault asks for before it publishes an identity, in base64: the
 * proof that the user has the private signing key, and the endorsement by the identity before, by
 * which others can follow the change.
 */
export function signPublication(
  { owner, issuer }: AccountNames,
  identity: Identity,
  before: Predecessor | undefined,
): { readonly proofOfPossession: string; readonly endorsement?: string } {
  const message = messageOf({ owner, issuer, identity }, before?.published);
  const proofOfPossession = encodeBase64(sign(identity, 'Service_Identity_Possession_v1', message));
  const signer = before?.signer;
  if (signer === undefined) return { proofOfPossession };
  const endorsement = encodeBase64(sign(signer, 'Service_Identity_Change_v1', message));
  return { proofOfPossession, endorsement };
}

/**
 * Returns whether the identity before signed the publication of its successor.
 * @param signature the endorsement, 64 bytes
 */
export function isEndorsedBy(
  before: PublicIdentity,
  publication: Publication,
  signature: Bytes,
): boolean {
  const message = messageOf(publication, before);
  return isSignedBy(before, 'Service_Identity_Change_v1', { message, signature });
}

function messageOf(
  { owner, issuer, identity }: Publication,
  before: PublicIdentity | undefined,
): Bytes {
  const previous = before === undefined ? null : fingerprintOf(before);
  const publicKey = encodeBase64(identity.publicKey);
  const signingKey = encodeBase64(identity.signingKey);
  const text = canonicalize({ v: 1, issuer, owner, publicKey, signingKey, previous }) ?? '';
  return new Uint8Array(utf8ToBytes(text));
}
