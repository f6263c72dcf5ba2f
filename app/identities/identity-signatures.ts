import { createPublicKey, verify } from 'node:crypto';
import { AppError } from '../errors/app-error.ts';
import { canonicalText } from '../json/canonical-text.ts';
import { fingerprintOf, type PublicIdentity } from './public-identity.ts';

/** Names the kind of what an identity signs, so that no signature serves for another kind. */
type SignatureLabel =
  | 'Service_Author_Statement_v1'
  | 'Service_Identity_Possession_v1'
  | 'Service_Identity_Change_v1';

interface Signed {
  readonly text: string;
  /** The Ed25519 signature over label ‖ 0x00 ‖ text: 64 bytes in base64. */
  readonly signature: string;
}

/** Returns whether the owner of a signing key, in base64, signed a text of one kind. */
export function isSignedBy(
  signingKey: string,
  label: SignatureLabel,
  { text, signature }: Signed,
): boolean {
  const x = Buffer.from(signingKey, 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, Buffer.from(`${label}\0${text}`), key, Buffer.from(signature, 'base64'));
}

/** The signatures that a client sends with an identity. */
export interface IdentitySignatures {
  /** The signature by the identity itself; undefined if nobody has its private signing key. */
  readonly proofOfPossession?: string | undefined;
  /** The signature by the identity before; undefined if the client has lost that one. */
  readonly endorsement?: string | undefined;
}

/** An identity that somebody wants to publish as the one of an account of this vault. */
interface Publication {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  /** Id of the user. */
  readonly owner: string;
  readonly identity: PublicIdentity;
  /** The identity that it replaces. */
  readonly previous: PublicIdentity | undefined;
}

/**
 * Verifies that whoever publishes an identity has its private signing key, and that the identity
 * before signed its successor if it is said to have. Throws identity_unproven; `path` names the
 * object of the body that has the signatures.
 */
export function assertProven(
  publication: Publication,
  { proofOfPossession, endorsement }: IdentitySignatures,
  path?: string,
): void {
  const { identity, previous } = publication;
  const text = publicationText(publication);
  const refuse = (member: string, message: string) => {
    const details = [{ path: path === undefined ? member : `${path}.${member}`, message }];
    throw new AppError('identity_unproven', { details });
  };
  const isOwn =
    proofOfPossession !== undefined &&
    isSignedBy(identity.signingKey, 'Service_Identity_Possession_v1', {
      text,
      signature: proofOfPossession,
    });
  if (!isOwn) refuse('proofOfPossession', 'must be the signature of these keys by `signingKey`');
  if (endorsement === undefined) return;
  const isEndorsed =
    previous !== undefined &&
    isSignedBy(previous.signingKey, 'Service_Identity_Change_v1', { text, signature: endorsement });
  if (!isEndorsed) refuse('endorsement', 'must be the signature of these keys by those before');
}

/** Returns the text that the signatures of an identity are over. */
function publicationText({ issuer, owner, identity, previous }: Publication): string {
  return canonicalText({
    v: 1,
    issuer,
    owner,
    publicKey: identity.publicKey,
    signingKey: identity.signingKey,
    previous: previous === undefined ? null : fingerprintOf(previous),
  });
}
