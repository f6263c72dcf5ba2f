import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import type { Documents } from '../documents/documents.ts';
import { documentPath } from '../documents/fields.ts';
import type { Metadata } from '../documents/metadata.ts';
import { openDocument } from '../documents/open-document.ts';
import type { FreshProof } from '../http/fresh-proof.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { normalizeEmail } from '../login/email.ts';
import { fingerprintOf, type SharingKeys } from './keys.ts';
import { RecipientKeyError } from './recipient-key-error.ts';
import { openShare, ReceivedShare, type OpenedShare } from './received.ts';
import { sealDocumentKey } from './wrap.ts';

const ShareKey = z.object({ recipientId: z.uuid(), publicKey: z.base64().length(44) });

const Share = z.object({
  id: z.uuid(),
  documentId: z.uuid(),
  /**
   * Id of the recipient. The vault does not store the e-mail address to which a document was
   * shared.
   */
  recipientId: z.uuid(),
  permissions: z.array(z.string()),
  expiresAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
});
export type Share = z.output<typeof Share>;

/** The fingerprint of the sharing key, which the recipient told over another channel. */
interface ExpectedKey {
  /** 32 hex digits. */
  readonly fingerprint: string;
}

interface ConfirmedKey {
  /** Decides whether to share, by the fingerprint of the key that the vault showed. */
  readonly confirm: (fingerprint: string, metadata: Metadata) => boolean | Promise<boolean>;
}

/**
 * The vault could show a key of its own as the recipient's, so one of the two ways to compare the
 * key is required.
 */
export type ShareOptions = (ExpectedKey | ConfirmedKey) & {
  /** Time at which the share ends. By default it does not end. */
  readonly expiresAt?: Date;
};

/**
 * A received share with its metadata. The metadata is undefined if the share cannot be decrypted:
 * any user may send such a share.
 */
export type SharedItem = ReceivedShare & { readonly metadata: Metadata | undefined };

export interface Sharing {
  /**
   * Creates the user's sharing key if there is none, so that other users can share documents with
   * this user. Resolves with the fingerprint of the key, 32 hex digits, which the user tells the
   * other users over another channel than the vault. Throws invalid_envelope. After an interrupted
   * rekey, also throws what `VaultSession.finishRekey` throws.
   */
  enableSharing(proof?: FreshProof): Promise<{ readonly fingerprint: string }>;
  /**
   * Shares a document with the user of an e-mail address. Only the fingerprint shows whether that
   * user exists and whether the vault returned the key of that user. Nobody can open a share that
   * was made before the recipient called `enableSharing`: call `unshare` and share again. Throws
   * RecipientKeyError if the key has another fingerprint than the expected one, ClientError
   * recipient_refused if `confirm` resolves with false, what `openDocument` throws, and VaultError
   * 404 not_found or 409 share_exists.
   */
  shareDocument(
    documentId: string,
    email: string,
    options: ShareOptions,
  ): Promise<Share & { readonly fingerprint: string }>;
  /** Lists the shares of a document, newest first. Throws VaultError 404 not_found. */
  listShares(
    documentId: string,
    options?: { readonly pageSize?: number },
  ): AsyncGenerator<Share, void, void>;
  /**
   * Ends a share; the recipient keeps what they have read before. Throws VaultError 404 not_found.
   */
  unshare(documentId: string, shareId: string): Promise<void>;
  /**
   * Lists the documents that other users share with this user, newest share first. Throws
   * VaultError 404 not_found before `enableSharing`, and invalid_envelope.
   */
  listShared(options?: { readonly pageSize?: number }): AsyncGenerator<SharedItem, void, void>;
  /**
   * Opens a share by its id. Throws ClientError share_not_found, and what `openShare` and
   * `listShared` throw.
   */
  openShared(shareId: string): Promise<OpenedShare>;
  /**
   * Removes a share from this user's list, and with it the access to the document. The sharer is
   * not told. Throws VaultError 404 not_found.
   */
  removeShared(shareId: string): Promise<void>;
}

export function createSharing({
  http,
  documents,
  keys,
  openMasterKeys,
}: {
  readonly http: Http;
  readonly documents: Documents;
  readonly keys: SharingKeys;
  readonly openMasterKeys: () => Promise<MasterKeys>;
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

  async function shareDocument(
    documentId: string,
    email: string,
    { expiresAt, ...known }: ShareOptions,
  ): Promise<Share & { readonly fingerprint: string }> {
    const owned = { id: documentId, ...(await openMasterKeys()) };
    const { documentKey, metadata } = await openDocument({ documents }, owned);
    const { recipientId, recipientKey, fingerprint } = await findRecipient(email);
    await assertConfirmed(known, fingerprint, metadata);
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
  }

  return {
    shareDocument,

    async enableSharing(proof) {
      const { publicKey } = await keys.createOrOpen(proof);
      return { fingerprint: fingerprintOf(publicKey) };
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

    async removeShared(shareId) {
      const path = `/v1/documents/shared/${encodeURIComponent(shareId)}`;
      await http.send({ method: 'DELETE', path });
    },
  };
}

async function assertConfirmed(
  known: ExpectedKey | ConfirmedKey,
  fingerprint: string,
  metadata: Metadata,
): Promise<void> {
  if ('confirm' in known) {
    if (!(await known.confirm(fingerprint, metadata))) throw new ClientError('recipient_refused');
  } else if (known.fingerprint !== fingerprint) {
    throw new RecipientKeyError({ expected: known.fingerprint, shown: fingerprint });
  }
}

/** Decrypts the metadata of a share; undefined if the share does not open. */
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
