import { z } from 'zod';
import { Base64, Base64Text, Timestamp } from '../http/bodies/wire.ts';
import { isPublicKey, isSigningKey } from './public-identity.ts';

const maxWrappedBytes = 1024;

export const SigningKey = Base64Text.describe('Public Ed25519 key: base64 of 32 bytes.');
export const Fingerprint = z
  .string()
  .describe('First 32 hex digits of the hash of both keys, to compare with the other person.');

/** An Ed25519 signature: base64 of 64 bytes. */
export const Signature = Base64(64).length(88);

export const SharingKeyChange = z
  .strictObject({
    publicKey: Base64(32)
      .refine(isPublicKey, 'must be a public key of X25519')
      .describe('Public key for HPKE with DHKEM(X25519, HKDF-SHA256): base64 of 32 bytes.'),
    wrappedPrivateKey: Base64(maxWrappedBytes)
      .min(1)
      .describe('The private key, encrypted by the client: base64 of at most 1 KiB.'),
    signingKey: Base64(32)
      .refine(isSigningKey, 'must be a public key of Ed25519')
      .optional()
      .describe(
        'Public Ed25519 key: base64 of 32 bytes. If it was never sent, others are shown one that ' +
          'nobody can sign by.',
      ),
    wrappedSigningKey: Base64(maxWrappedBytes)
      .min(1)
      .optional()
      .describe('The private signing key, encrypted by the client; together with `signingKey`.'),
    proofOfPossession: Signature.optional().describe(
      'Signature of issuer, account and keys by `signingKey`: base64 of 64 bytes. Required ' +
        'unless nobody has the private signing key.',
    ),
    endorsement: Signature.optional().describe(
      'The same by the signing key that is replaced, which becomes part of the entry: base64 of ' +
        '64 bytes. Default: none, if that key is lost.',
    ),
  })
  .meta({ id: 'SharingKeyChange' });

export const SharingKeyView = z
  .strictObject({
    publicKey: Base64Text.describe('Public X25519 key: base64 of 32 bytes.'),
    wrappedPrivateKey: Base64Text.describe('The private key, encrypted by the client: base64.'),
    signingKey: SigningKey,
    wrappedSigningKey: Base64Text.nullable().describe(
      'The private signing key, encrypted by the client; null if the client sent none.',
    ),
    version: z.int().min(1).describe('Counts the replacements; the ETag is made from it.'),
    createdAt: Timestamp.describe('When this key pair was stored.'),
  })
  .meta({ id: 'SharingKey' });
