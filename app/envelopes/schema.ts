import { z } from 'zod';
import { Salt, Verifier } from '../accounts/schema.ts';
import { Base64, Timestamp, Uuid } from '../http/bodies/wire.ts';

/**
 * The most bytes that base64 in a body of 16 KiB can hold. This limit is far above the length of a
 * key, since a key of a wrong length gets an error code of its own.
 */
const maxBytes = 3 * 2 ** 12;

/** A wrapped key; its length is checked later. AES-256-KW adds 8 bytes to a key of 32. */
export const Envelope = Base64(maxBytes);

export const Algorithm = z.literal('AES-256-KW');

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
  .meta({ description: 'Base64 of 32 bytes. Better: send encryptedEnvelope.' });

/** The master key for a master envelope: wrapped, or unwrapped together with its wrapping key. */
export const MasterKeyForm = z.union(
  [
    z.strictObject({ encryptedEnvelope: Envelope }),
    z
      .strictObject({ kPasswordBase64: RawKey, kMasterUserBase64: RawKey })
      .transform(({ kPasswordBase64, kMasterUserBase64 }) => ({
        wrappingKey: kPasswordBase64,
        masterKey: kMasterUserBase64,
      })),
  ],
  'must be {encryptedEnvelope} or {kPasswordBase64, kMasterUserBase64} of canonical base64',
);

/** The credential for recovery logins: both fields or neither. */
const credentialFields = { recoverySalt: Salt.optional(), recoveryVerifier: Verifier.optional() };

/**
 * The master key for a recovery envelope, wrapped or unwrapped, with or without the credential for
 * recovery logins.
 */
export const RecoveryKeyForm = z.union(
  [
    z
      .strictObject({ encryptedEnvelope: Envelope, ...credentialFields })
      .refine(isWhole)
      .transform(({ encryptedEnvelope, ...fields }) => ({
        form: { encryptedEnvelope },
        credential: toCredential(fields),
      })),
    z
      .strictObject({ kRecoveryBase64: RawKey, kMasterUserBase64: RawKey, ...credentialFields })
      .refine(isWhole)
      .transform(({ kRecoveryBase64, kMasterUserBase64, ...fields }) => ({
        form: { wrappingKey: kRecoveryBase64, masterKey: kMasterUserBase64 },
        credential: toCredential(fields),
      })),
  ],
  'must be {encryptedEnvelope} or {kRecoveryBase64, kMasterUserBase64} of canonical base64, ' +
    'with both of recoverySalt (16 to 64 bytes, hex) and recoveryVerifier ' +
    '(between 1 and N - 1, hex) or neither',
);

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
    id: Uuid,
    encryptedEnvelope: z.string(),
    algorithm: Algorithm,
    version: z.int(),
  })
  .meta({ id: 'KeyEnvelope' });

/**
 * An envelope; `keyring` contains the earlier master keys, wrapped under the present master key;
 * null if there are none.
 */
export const EnvelopeView = z.strictObject({
  ...StoredEnvelope.shape,
  keyring: z.string().nullable(),
  createdAt: Timestamp,
});
