import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../columns/columns.ts';
import { isRecipient, ownedByUser, writtenUnder } from '../columns/policies.ts';
import { Document } from './documents.ts';

/**
 * A user's identity, in base64: an HPKE key pair for sharing, and a signing key pair. The client
 * has wrapped the private keys.
 */
export const SharingKey = defineEntity({
  name: 'SharingKey',
  tableName: 'sharing_keys',
  rowLevelSecurity: 'force',
  policies: ownedByUser('sharing_keys'),
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    publicKey: p.text(),
    wrappedPrivateKey: p.text(),
    signingKey: p.text(),
    /** Null if the client sent no signing key; then nobody can sign. */
    wrappedSigningKey: p.text().nullable(),
    version: p.integer().default(1),
    createdAt: createdAt(),
    updatedAt: timestamp(),
  },
});

/**
 * The user to whom a sharer's recipient id refers; no user if the e-mail address had no account.
 */
export const ShareRecipient = defineEntity({
  name: 'ShareRecipient',
  tableName: 'share_recipients',
  rowLevelSecurity: 'force',
  policies: ownedByUser('share_recipients'),
  indexes: [{ name: 'share_recipients_user', properties: ['recipientUserId'] }],
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    /** UUIDv8 derived from sharer and e-mail address. */
    recipientRef: p.uuid().primary(),
    recipientUserId: p.uuid().nullable(),
    /** The fingerprint of the keys that the sharer was shown last; null in earlier rows. */
    fingerprint: p.text().nullable(),
    createdAt: createdAt(),
  },
});

/** A user whose shares another user of the tenant does not want to see. */
export const SenderBlock = defineEntity({
  name: 'SenderBlock',
  tableName: 'sender_blocks',
  rowLevelSecurity: 'force',
  policies: ownedByUser('sender_blocks'),
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    senderId: p.uuid().primary(),
    createdAt: createdAt(),
  },
});

/** A share of a document: the permissions of one other user of the tenant. */
export const DocumentShare = defineEntity({
  name: 'DocumentShare',
  tableName: 'document_shares',
  rowLevelSecurity: 'force',
  policies: [
    ...writtenUnder('document_shares', 'document_id', 'documents'),
    {
      name: 'document_shares_by_recipient',
      command: 'select',
      roles: ['probatio_app'],
      using: isRecipient('document_shares'),
    },
  ],
  uniques: [{ name: 'document_shares_recipient_ref', properties: ['document', 'recipientRef'] }],
  indexes: [
    { name: 'document_shares_given', properties: ['userId', 'id'] },
    { name: 'document_shares_received', properties: ['recipientUserId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    ...owner(),
    document: () => p.manyToOne(Document).mapToPk().deleteRule('cascade').updateRule('no action'),
    recipientRef: p.uuid(),
    /** Null if the recipient has no account, so that nobody can use the share. */
    recipientUserId: p.uuid().nullable(),
    /** The document key, encrypted under the recipient's public key, in base64. */
    wrappedKey: p.text(),
    permissions: p.array().columnType('text[]'),
    expiresAt: timestamp().nullable(),
    createdAt: createdAt(),
    /** The only version that the recipient may read; null for all. */
    version: p.integer().nullable(),
    /** The sharer's signature, in base64; null if the sharer's client sent none. */
    signature: p.text().nullable(),
    /** The sharer's public keys at the time of the share; null if the sharer had none. */
    sharerPublicKey: p.text().nullable(),
    sharerSigningKey: p.text().nullable(),
  },
});
