import { z } from 'zod';
import { Email } from '../accounts/email.ts';
import { DocumentStatus } from '../documents/records/schema.ts';
import {
  Base64,
  Base64Text,
  Digest,
  Limit,
  Moment,
  Timestamp,
  Uuid,
  UuidCursor,
} from '../http/bodies/wire.ts';
import { Fingerprint, Signature, SigningKey } from '../identities/schema.ts';
import { AuthorStatement } from '../statements/schema.ts';

const maxWrappedBytes = 1024;

export const Permissions = z
  .array(z.literal('read'))
  .length(1)
  .describe('What the recipient may do: `read` is the only permission.');

const RecipientId = Uuid.describe(
  'Stands for the recipient’s e-mail address in shares and entries of this sharer.',
);
const documentId = Uuid.describe('Id of the document.');
const expiresAt = Timestamp.nullable().describe('When the share ends; null for never.');
const version = z
  .int()
  .nullable()
  .describe('The only version that the recipient may read; null for all of them.');
const createdAt = Timestamp.describe('When the document was shared.');

export const ShareKeyRequest = z
  .strictObject({ recipientEmail: Email })
  .meta({ id: 'RecipientQuery' });

export const ShareKey = z
  .strictObject({
    recipientId: RecipientId,
    publicKey: Base64Text.describe('Public X25519 key, or a decoy: base64 of 32 bytes.'),
    signingKey: Base64Text.describe('Public Ed25519 key, or a decoy: base64 of 32 bytes.'),
    fingerprint: Fingerprint,
  })
  .meta({ id: 'RecipientKey' });

/** A new share. Names its recipient either by e-mail address or by id. */
export const CreateShare = z
  .strictObject({
    recipientEmail: Email.optional().describe('E-mail address; this or `recipientId`.'),
    recipientId: Uuid.optional().describe('From `share-key`; this or `recipientEmail`.'),
    wrappedKey: Base64(maxWrappedBytes)
      .min(1)
      .describe(
        'The document’s or the version’s key, encrypted under the recipient’s public key: base64.',
      ),
    permissions: Permissions,
    expiresAt: Moment.optional().describe('When the share ends. Default: never.'),
    version: z
      .int()
      .min(1)
      .max(2 ** 31 - 1)
      .optional()
      .describe('The only version that the recipient may read. Default: all of them.'),
    replaces: Uuid.optional().describe(
      'A share of this document that ends with this one, such as one with an earlier key.',
    ),
    signature: Signature.optional().describe(
      'The sharer’s Ed25519 signature, which the recipient verifies: 64 bytes in base64.',
    ),
    authorStatement: AuthorStatement.optional().describe(
      'What the sharer states of the share, which its entry holds. Default: nothing.',
    ),
  })
  .meta({ id: 'ShareCreation' });

export const ShareView = z
  .strictObject({
    id: Uuid.describe('Id of the share.'),
    documentId,
    recipientId: RecipientId,
    permissions: Permissions,
    version,
    expiresAt,
    createdAt,
  })
  .meta({ id: 'Share' });

export const ShareList = z.array(ShareView);

export const ShareId = z.strictObject({
  id: documentId,
  shareId: Uuid.describe('Id of the share.'),
});

export const ReceivedShareId = z.strictObject({ shareId: Uuid.describe('Id of the share.') });

export const SharePage = z.strictObject({ limit: Limit, cursor: UuidCursor });

const Sharer = z
  .strictObject({
    publicKey: Base64Text.describe('Public X25519 key: base64 of 32 bytes.'),
    signingKey: SigningKey,
    fingerprint: Fingerprint,
  })
  .meta({ id: 'Sharer' });

/**
 * A document in the version that is shared, or else its current one, with the wrapped key that its
 * recipient needs.
 */
export const SharedDocument = z
  .strictObject({
    shareId: Uuid.describe('Id of the share.'),
    documentId,
    ownerId: Uuid.describe('Id of the sharer, by which its recipient may block it.'),
    wrappedKey: Base64Text.describe(
      'The document’s or the version’s key, encrypted for the caller: base64.',
    ),
    permissions: Permissions,
    encryptedMetadata: Base64Text.describe('Metadata as the owner encrypted it: base64.'),
    fileHash: Digest.describe('SHA3-256 of the encrypted file of that version, in hex.'),
    status: DocumentStatus,
    version,
    expiresAt,
    createdAt,
    signature: Base64Text.nullable().describe('The sharer’s signature; null if there is none.'),
    sharer: Sharer.nullable().describe(
      'The sharer’s keys at the time of the share; null if there were none.',
    ),
  })
  .meta({ id: 'SharedDocument' });

export const SharedList = z.array(SharedDocument);
