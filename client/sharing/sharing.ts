import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import type { Documents } from '../documents/documents.ts';
import { documentPath } from '../documents/fields.ts';
import type { Metadata } from '../documents/metadata.ts';
import { openDocument } from '../documents/open-document.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { normalizeEmail } from '../login/email.ts';
import { fingerprintOf, type SharingKeys } from './keys.ts';
import { openShare, ReceivedShare, type OpenedShare } from './received.ts';
import { sealDocumentKey } from './wrap.ts';

const ShareKey = z.object({ recipientId: z.uuid(), publicKey: z.base64().length(44) });

const Share = z.object({
  id: z.uuid(),
  documentId: z.uuid(),
  /** What the user's recipients are called; their addresses are not kept. */
  recipientId: z.uuid(),
  permissions: z.array(z.string()),
  expiresAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
});
export type Share = z.output<typeof Share>;

export interface ShareOptions {
  readonly expiresAt?: Date;
  /**
   * Says whether to go on, shown the fingerprint that the recipient reads out, and what is shared:
   * the vault could pass another document off as this one.
   */
  readonly confirm?: (fingerprint: string, metadata: Metadata) => boolean | Promise<boolean>;
}

/** Metadata is undefined where the share does not open: anyone may send one. */
export type SharedItem = ReceivedShare & { readonly metadata: Metadata | undefined };

export interface Sharing {
  /** From now on others can share with the user, who tells them the fingerprint. */
  enableSharing(): Promise<{ fingerprint: string }>;
  /**
   * Nothing but the fingerprint tells whether the recipient exists, and that the vault showed their
   * key and not another. A share made before they called `enableSharing` opens for nobody: `unshare` it,
   * and share again. ClientError recipient_refused or metadata_mismatch, VaultError 409
   * share_exists.
   */
  shareDocument(
    documentId: string,
    email: string,
    options?: ShareOptions,
  ): Promise<Share & { fingerprint: string }>;
  listShares(
    documentId: string,
    options?: { pageSize?: number },
  ): AsyncGenerator<Share, void, void>;
  /** The recipient reads it no more, but for what they have read. VaultError 404 not_found. */
  unshare(documentId: string, shareId: string): Promise<void>;
  /** What others share with the user. VaultError 404 not_found before `enableSharing`. */
  listShared(options?: { pageSize?: number }): AsyncGenerator<SharedItem, void, void>;
  /** ClientError share_not_found, or what `openShare` throws; VaultError as `listShared`. */
  openShared(shareId: string): Promise<OpenedShare>;
}

export function createSharing({
  http,
  documents,
  keys,
  openMasterKeys,
}: {
  http: Http;
  documents: Documents;
  keys: SharingKeys;
  openMasterKeys: () => Promise<MasterKeys>;
}): Sharing {
  const listReceived = (pageSize?: number) =>
    listPages(http, ReceivedShare, '/v1/documents/shared', pageSize);

  async function findRecipient(email: string) {
    const { recipientId, publicKey } = await http.json(ShareKey, {
      method: 'POST',
      path: '/v1/documents/share-key',
      repeatable: true,
      json: { recipientEmail: normalizeEmail(email) },
    });
    const recipientKey = decodeBase64(publicKey);
    return { recipientId, recipientKey, fingerprint: fingerprintOf(recipientKey) };
  }

  return {
    async enableSharing() {
      const { publicKey } = await keys.createOrOpen();
      return { fingerprint: fingerprintOf(publicKey) };
    },

    async shareDocument(documentId, email, { expiresAt, confirm } = {}) {
      const owned = { id: documentId, ...(await openMasterKeys()) };
      const { documentKey, metadata } = await openDocument({ documents }, owned);
      const { recipientId, recipientKey, fingerprint } = await findRecipient(email);
      if (confirm !== undefined && !(await confirm(fingerprint, metadata))) {
        throw new ClientError('recipient_refused');
      }
      const wrappedKey = await sealDocumentKey(recipientKey, documentId, documentKey);
      const share = await http.json(Share, {
        method: 'POST',
        path: `${documentPath(documentId)}/share`,
        idempotencyKey: crypto.randomUUID(),
        json: {
          recipientId,
          wrappedKey: encodeBase64(wrappedKey),
          permissions: ['read'],
          ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
        },
      });
      return { ...share, fingerprint };
    },

    listShares(documentId, { pageSize } = {}) {
      return listPages(http, Share, `${documentPath(documentId)}/shares`, pageSize);
    },

    async unshare(documentId, shareId) {
      const path = `${documentPath(documentId)}/shares/${encodeURIComponent(shareId)}`;
      await http.send({ method: 'DELETE', path });
    },

    async *listShared({ pageSize } = {}) {
      const { privateKey } = await keys.open();
      for await (const share of listReceived(pageSize)) {
        yield { ...share, metadata: await findMetadata(privateKey, share) };
      }
    },

    async openShared(shareId) {
      const { privateKey } = await keys.open();
      for await (const share of listReceived()) {
        if (share.shareId === shareId) return openShare(privateKey, share);
      }
      throw new ClientError('share_not_found');
    },
  };
}

async function findMetadata(
  privateKey: Bytes,
  share: ReceivedShare,
): Promise<Metadata | undefined> {
  try {
    return (await openShare(privateKey, share)).metadata;
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}
