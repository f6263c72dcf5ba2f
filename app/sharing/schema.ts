import { z } from 'zod';
import { Email } from '../accounts/email.ts';
import { DocumentStatus } from '../documents/records/schema.ts';
import { Base64, Limit, Moment, Timestamp, Uuid } from '../http/bodies/wire.ts';
import { isPublicKey } from './public-key.ts';

const maxWrappedBytes = 1024;

export const Permissions = z.array(z.literal('read')).length(1);

export const SharingKeyChange = z.strictObject({
  /** The public key for HPKE with DHKEM(X25519, HKDF-SHA256). */
  publicKey: Base64(32).refine(isPublicKey, 'must be a public key of X25519'),
  wrappedPrivateKey: Base64(maxWrappedBytes).min(1),
});

export const SharingKeyView = z.strictObject({
  publicKey: z.string(),
  wrappedPrivateKey: z.string(),
  version: z.int(),
  createdAt: Timestamp,
});

export const ShareKeyRequest = z.strictObject({ recipientEmail: Email });

export const ShareKey = z.strictObject({
  recipientId: Uuid,
  publicKey: z.string(),
  fingerprint: z.string(),
});

/** A new share. Names its recipient either by e-mail address or by id. */
export const CreateShare = z.strictObject({
  recipientEmail: Email.optional(),
  recipientId: Uuid.optional(),
  /** The document key, encrypted under the recipient's public key. */
  wrappedKey: Base64(maxWrappedBytes).min(1),
  permissions: Permissions,
  expiresAt: Moment.optional(),
});

export const ShareView = z
  .strictObject({
    id: Uuid,
    documentId: Uuid,
    recipientId: Uuid,
    permissions: Permissions,
    expiresAt: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: 'Share' });

export const ShareList = z.array(ShareView);

export const ShareId = z.strictObject({ id: Uuid, shareId: Uuid });

export const ReceivedShareId = z.strictObject({ shareId: Uuid });

export const SharePage = z.strictObject({ limit: Limit, cursor: Uuid.optional() });

/** A document in its current version, with the wrapped key that its recipient needs. */
export const SharedDocument = z.strictObject({
  shareId: Uuid,
  documentId: Uuid,
  ownerId: Uuid,
  wrappedKey: z.string(),
  permissions: Permissions,
  encryptedMetadata: z.string(),
  fileHash: z.string(),
  status: DocumentStatus,
  expiresAt: Timestamp.nullable(),
  createdAt: Timestamp,
});

export const SharedList = z.array(SharedDocument);
