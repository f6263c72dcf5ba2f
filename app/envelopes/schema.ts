import { z } from 'zod';
import { Salt, Verifier } from '../accounts/schema.ts';
import { Base64, Base64Text, Timestamp, Uuid } from '../http/bodies/wire.ts';

/**
 * The most bytes that base64 in a body of 16 KiB can hold. This limit is far above the length of a
 * key, since a key of a wrong length gets an error code of its own.
 */
const maxBytes = 3 * 2 ** 12;

/** A wrapped key; its length is checked later. AES-256-KW adds 8 bytes to a key of 32. */
export const Envelope = Base64(maxBytes).describe('A wrapped key: base64 of 40 bytes.');

export const Algorithm = z.literal('AES-256-KW').describe('How the key is wrapped (RFC 3394).');

/**
 * Matches canonical base64 without decoding it: decoding would create a copy of the key that is
 * never erased.
 */
const canonicalBase64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

/** An unwrapped key of 32 bytes. */
export const RawKey = z
  .string()
  .max(Math.ceil(maxBytes / 3) * 4)
  .regex(canonicalBase64, 'not canonical base64')
  .meta({
    description: 'An unwrapped key: base64 of 32 bytes. Better: send `encryptedEnvelope`.',
    contentEncoding: 'base64',
  });

/** The master key for a master envelope: wrapped, or unwrapped together with its wrapping key. */
export const MasterKeyForm = z
  .union(
    [
      z.strictObject({ encryptedEnvelope: Envelope }).meta({ id: 'WrappedMasterKey' }),
      z
        .strictObject({ kPasswordBase64: RawKey, kMasterUserBase64: RawKey })
        .meta({ id: 'RawMasterKey' })
        .transform(({ kPasswordBase64, kMasterUserBase64 }) => ({
          wrappingKey: kPasswordBase64,
          masterKey: kMasterUserBase64,
        })),
    ],
    'must be {encryptedEnvelope} or {kPasswordBase64, kMasterUserBase64} of canonical base64',
  )
  .meta({ id: 'MasterKey' });

/** The credential for recovery logins: both fields or neither. */
const credentialFields = { recoverySalt: Salt.optional(), recoveryVerifier: Verifier.optional() };

/**
 * The master key for a recovery envelope, wrapped or unwrapped, with or without the credential for
 * recovery logins.
 */
export const RecoveryKeyForm = z
  .union(
    [
      z
        .strictObject({ encryptedEnvelope: Envelope, ...credentialFields })
        .meta({ id: 'WrappedRecoveryKey' })
        .refine(isWhole)
        .transform(({ encryptedEnvelope, ...fields }) => ({
          form: { encryptedEnvelope },
          credential: toCredential(fields),
        })),
      z
        .strictObject({ kRecoveryBase64: RawKey, kMasterUserBase64: RawKey, ...credentialFields })
        .meta({ id: 'RawRecoveryKey' })
        .refine(isWhole)
        .transform(({ kRecoveryBase64, kMasterUserBase64, ...fields }) => ({
          form: { wrappingKey: kRecoveryBase64, masterKey: kMasterUserBase64 },
          credential: toCredential(fields),
        })),
    ],
    'must be {encryptedEnvelope} or {kRecoveryBase64, kMasterUserBase64} of canonical base64, ' +
      'with both of recoverySalt (16 to 64 bytes, hex) and recoveryVerifier ' +
      '(between 1 and N - 1, hex) or neither',
  )
  .meta({ id: 'RecoveryKey' });

interface CredentialFields {
  readonly recoverySalt?: string | undefined;
  readonly recoveryVerifier?: string | undefined;
}

function isWhole({ recoverySalt, recoveryVerifier }: CredentialFields): boolean {
  return (recoverySalt === undefined) === (recoveryVerifier === undefined);
}

function toCredential({ recoverySalt: salt, recoveryVerifier: verifier }: CredentialFields) {
  return salt === undefined || verifier === undefined ? undefined : { salt, verifier };
}

export const StoredEnvelope = z
  .strictObject({
    id: Uuid.describe('Id of the envelope.'),
    encryptedEnvelope: Base64Text.describe('The wrapped master key: base64 of 40 bytes.'),
    algorithm: Algorithm,
    version: z.int().min(1).describe('Counts the replacements; the ETag is made from it.'),
  })
  .meta({ id: 'KeyEnvelope' });

export const EnvelopeView = z
  .strictObject({
    ...StoredEnvelope.shape,
    keyring: Base64Text.nullable().describe(
      'Earlier master keys, encrypted under the present one: base64; null if there are none.',
    ),
    createdAt: Timestamp.describe('When the envelope was first stored.'),
  })
  .meta({ id: 'StoredKeyEnvelope' });
