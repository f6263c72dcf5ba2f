import { z } from 'zod';
import { sealMembersBytes } from './sealed-text.ts';
import { refusedCodes, unavailableCodes } from './signer-error.ts';

export const maxBatchEntries = 256;
/** The longest text of an entry that the signer takes, in bytes of UTF-8. */
export const maxEntryBytes = 64 * 1024 - sealMembersBytes;
/** The longest text of an entry that a seal is about, in bytes of UTF-8. */
export const maxSealedBytes = maxEntryBytes + sealMembersBytes;

/**
 * Maximum bytes of a body: fits a full batch of the largest entries, with room to escape every
 * second character in JSON.
 */
export const maxBodyBytes = 2 * maxBatchEntries * maxEntryBytes;

/** Highest generation of a key: a label has room for six digits. */
export const maxGeneration = 999_999;

/** Timeout for creating a key: an HSM may take half a minute to generate an RSA key. */
export const keyCreationTimeoutMs = 60_000;

const Base64 = z.base64();
export const KeyId = z.string().regex(/^[0-9a-f]{32}$/);

export const EntryToSeal = z.strictObject({ id: z.string(), text: z.string() });
export type EntryToSeal = z.output<typeof EntryToSeal>;

export const SealRequest = z.strictObject({
  keyId: KeyId,
  entries: z.array(EntryToSeal).min(1).max(maxBatchEntries),
});

export const MarkSealRequest = z.strictObject({ keyId: KeyId, entry: EntryToSeal });

/**
 * The reason why one entry of a batch was not sealed. `wrong_issuer`: the signer does not serve the
 * vault that the entry names. `future_timestamp`: the entry is of more than a minute in the future
 * of the signer's clock. Those two may pass; for the others, a retry with the same entry fails
 * again.
 */
export const EntryFault = z.enum([
  'too_large',
  'not_canonical',
  'not_an_entry',
  'id_mismatch',
  'wrong_issuer',
  'future_timestamp',
  'reserved_action',
  'not_a_key_record',
  'key_not_held',
  'key_differs',
  'signed_by_itself',
  'not_a_mark',
]);
export type EntryFault = z.output<typeof EntryFault>;

/**
 * The seal of an entry. `sealedAt` and `late`: the members that the signer added to the text.
 * `hash`: SHA3-256 of the UTF-8 text with them, lowercase hex. `signature`: ECDSA P-256 over that
 * hash, DER, base64. `keyId`: SHA-256 of the key's SPKI DER, first 16 bytes, lowercase hex.
 */
export const Seal = z.strictObject({
  id: z.string(),
  sealedAt: z.iso.datetime({ precision: 3 }),
  late: z.boolean(),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  signature: Base64,
  keyId: KeyId,
});
export type Seal = z.output<typeof Seal>;

export const SealResult = z.union([Seal, z.strictObject({ id: z.string(), error: EntryFault })]);
export type SealResult = z.output<typeof SealResult>;

/** The results, in the order of the request's entries. */
export const SealResponse = z.strictObject({ results: z.array(SealResult) });
export const MarkSealResponse = z.strictObject({ result: SealResult });

export const TokenRequest = z.strictObject({
  keyId: KeyId,
  typ: z.string(),
  claims: z.record(z.string(), z.unknown()),
});
export type TokenRequest = z.output<typeof TokenRequest>;

/** The token: a compact JWS, signed with RS256, with `typ` and `kid` in its header. */
export const TokenResponse = z.strictObject({ token: z.string() });

/**
 * The labels for which the signer computes a MAC. The application uses the MAC of a label as a key.
 */
export const MacLabel = z.enum(['email-hash', 'address-hash', 'decoy', 'refresh-token']);
export type MacLabel = z.output<typeof MacLabel>;

/**
 * The label whose MAC the application uses as a key of encryption. It is computed with a generation
 * of the key `encryption`, while the MACs of the other labels never change.
 */
export const encryptionLabel = 'at-rest';

const Generation = z.int().positive().max(maxGeneration);

/** The label of the secrets of one-time codes, one for each user and nonce. */
export const totpLabel = 'totp';
/** The number of bytes of such a secret, as RFC 4226 §4 recommends. */
export const totpSecretBytes = 20;

/** A request for the secret of a user's one-time codes. `nonce`: 32 random bytes, lowercase hex. */
export const TotpRequest = z.strictObject({
  label: z.literal(totpLabel),
  generation: Generation.optional(),
  user: z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  nonce: z.string().regex(/^[0-9a-f]{64}$/),
});
export type TotpRequest = z.output<typeof TotpRequest>;

/**
 * A request for a MAC. `generation` is for the labels whose key has generations; without it, the
 * newest generation in the token is used.
 */
export const MacRequest = z.union([
  TotpRequest,
  z.strictObject({
    label: z.string().refine((label) => label !== totpLabel),
    generation: Generation.optional(),
  }),
]);

/**
 * The MAC, base64, and the generation of the key that made it: HMAC-SHA-256 of 32 bytes, or its
 * first 20 bytes under the label of one-time codes.
 */
export const MacResponse = z.strictObject({
  mac: z.union([Base64.length(44), Base64.length(28)]),
  generation: Generation,
});

/** The purposes of the keys that have a public half. */
export const SigningPurpose = z.enum(['audit', 'token']);
export type SigningPurpose = z.output<typeof SigningPurpose>;

/**
 * A public key. `publicKey`: SubjectPublicKeyInfo DER, base64. `contested`: another key of the
 * token has the same purpose and generation, as happens while two signers create a key
 * concurrently; a contested key may still be destroyed. `imported`: the token did not generate the
 * key, or the key may have left the token.
 */
export const PublicKey = z.strictObject({
  purpose: SigningPurpose,
  keyId: KeyId,
  algorithm: z.enum(['ECDSA-P256-SHA3-256', 'RS256']),
  publicKey: Base64,
  generation: z.int().positive(),
  contested: z.boolean(),
  imported: z.boolean(),
});
export type PublicKey = z.output<typeof PublicKey>;

/** The keys that the signer uses, and the imported keys that it does not use until adopted. */
export const KeysResponse = z.strictObject({
  keys: z.array(PublicKey),
  unadopted: z.array(PublicKey),
});

export const AdoptionRequest = z.strictObject({ keyId: KeyId });

/**
 * A request for a new key. `after`: a generation that existed, even if the token has lost it. With
 * `generation`, exactly that key is made if it is the next one, or the response names the key that
 * is there; the signer refuses any other number as `wrong_generation`.
 */
export const KeyRequest = z.strictObject({
  purpose: SigningPurpose,
  after: z
    .int()
    .min(0)
    .max(maxGeneration - 1)
    .default(0),
  generation: Generation.optional(),
});

export type KeyRequest = z.output<typeof KeyRequest>;

/** A request for a new encryption key, with a generation above `after` and all in the token. */
export const EncryptionKeyRequest = KeyRequest.pick({ after: true });

export const EncryptionKeyResponse = z.strictObject({ generation: Generation });

/**
 * The key that was created, found or adopted. The generation of a created key is above both the
 * highest of its purpose and `after`.
 */
export const KeyResponse = z.strictObject({ key: PublicKey });

export const TokenState = z.enum([
  'connecting',
  'ready',
  'unavailable',
  'keys_missing',
  'pin_incorrect',
  'stopped',
]);
export type TokenState = z.output<typeof TokenState>;

/** The health of the signer. `status` is `ok` only if `token`, the PKCS#11 token, is `ready`. */
export const HealthResponse = z.strictObject({
  /** The URLs of the vaults that the signer serves. */
  issuers: z.array(z.string()),
  status: z.enum(['ok', 'error']),
  token: TokenState,
  /** The time by the signer's clock. */
  time: z.iso.datetime({ precision: 3 }),
});
export type HealthResponse = z.output<typeof HealthResponse>;

export const ErrorResponse = z.strictObject({
  code: z.enum([...refusedCodes, ...unavailableCodes]),
  message: z.string(),
});
