import { z } from 'zod';
import { encodeBase64 } from '../bytes/base64.ts';
import { Key } from '../crypto/key.ts';
import { ClientError } from '../errors/client-error.ts';
import { documentPath } from '../documents/fields.ts';
import type { Metadata } from '../documents/metadata.ts';
import {
  openDocument,
  openVersionOf,
  stateOf,
  type OpenDependencies,
} from '../documents/open-document.ts';
import type { FreshProof } from '../http/fresh-proof.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { normalizeEmail } from '../login/email.ts';
import type { Identities } from '../identity/identities.ts';
import { fingerprintOf, type Identity } from '../identity/identity.ts';
import {
  confirmRecipient,
  confirmSharer,
  type ConfirmedKey,
  type ExpectedKey,
} from './confirmation.ts';
import { openShareWithAny, ReceivedShare, type OpenedShare } from './received.ts';
import { signShare } from './share-signature.ts';
import { sealDocumentKey, sealVersionKey } from './wrap.ts';

const RecipientKey = z.object({ recipientId: z.uuid(), publicKey: Key, signingKey: Key });

const Share = z.object({
  id: z.uuid(),
  documentId: z.uuid(),
  /**
   * Id of the recipient. The vault does not store the e-mail address to which a document was
   * shared.
   */
  recipientId: z.uuid(),
  permissions: z.array(z.string()),
  /** The only version that the recipient may read; null for all. */
  version: z.int().nullable(),
  expiresAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
});
export type Share = z.output<typeof Share>;

/**
 * The vault could show a key of its own as the recipient's, so one of the two ways to compare the
 * key is required.
 */
export type ShareOptions = (ExpectedKey | ConfirmedKey) & {
  /** Time at which the share ends. By default it does not end. */
  readonly expiresAt?: Date;
  /** The only version that the recipient gets the key of. By default it is the document's. */
  readonly version?: number;
};

/**
 * A received share with its metadata and the fingerprint of its signer. Both are undefined if the
 * share cannot be opened: any user may send such a share.
 */
export type SharedItem = ReceivedShare & {
  readonly metadata: Metadata | undefined;
  readonly sharerFingerprint: string | undefined;
};

/** Demands that a certain user signed the share, whose keys are remembered then. */
export interface SharerOptions {
  /** The fingerprint of the sharer's identity, 32 hex digits, told over another channel. */
  readonly sharer?: string;
}

export interface Sharing {
  /**
   * Resolves with the fingerprint of the user's identity, 32 hex digits, which the user tells other
   * users over another channel than the vault. Creates the identity if there is none, as may be
   * after an interrupted first login. Throws invalid_envelope, and what
   * `Identities.openRewrapped` throws.
   */
  enableSharing(proof?: FreshProof): Promise<{ readonly fingerprint: string }>;
  /**
   * Shares a document with the user of an e-mail address, and signs the share. Only the fingerprint
   * shows whether that user exists and whether the vault returned the keys of that user. Nobody can
   * open a share that was made before the recipient's first login: call `unshare` and share again.
   * The confirmed keys are remembered: with `confirm`, later ones of the same e-mail address are
   * refused, until the new `fingerprint` is given. Throws IdentityError, with both fingerprints, if
   * the keys have another fingerprint than the expected or remembered one, ClientError
   * recipient_refused if `confirm` resolves with false, what `openVersion` throws, and VaultError
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
   * invalid_envelope and identity_incomplete.
   */
  listShared(options?: { readonly pageSize?: number }): AsyncGenerator<SharedItem, void, void>;
  /**
   * Opens a share by its id. Throws ClientError share_not_found, IdentityError unless `sharer`
   * signed it, or by default a person whose keys were confirmed before as this owner's, if any;
   * RolledBackError if the document was seen in a newer state; and what `openShare` and
   * `listShared` throw.
   */
  openShared(shareId: string, options?: SharerOptions): Promise<OpenedShare>;
  /**
   * Removes a share from this user's list, and with it the access to the document. The sharer is
   * not told. Throws VaultError 404 not_found.
   */
  removeShared(shareId: string): Promise<void>;
}

export function createSharing({
  http,
  documents,
  memory,
  identities,
  openMasterKeys,
}: OpenDependencies & {
  readonly http: Http;
  readonly identities: Identities;
  readonly openMasterKeys: () => Promise<MasterKeys>;
}): Sharing {
  const listReceived = (pageSize?: number) =>
    listPages(http, ReceivedShare, '/v1/documents/shared', pageSize);

  async function findRecipient(email: string) {
    const { recipientId, ...recipient } = await http.json(RecipientKey, {
      method: 'POST',
      path: '/v1/documents/share-key',
      repeatable: true,
      json: { recipientEmail: normalizeEmail(email) },
    });
    return { recipientId, recipient, fingerprint: fingerprintOf(recipient) };
  }

  async function shareDocument(
    documentId: string,
    email: string,
    { expiresAt, version, ...known }: ShareOptions,
  ): Promise<Share & { readonly fingerprint: string }> {
    const owned = { id: documentId, ...(await openMasterKeys()) };
    const opened = await openDocument({ documents, memory }, owned);
    const shared = await openVersionOf({ documents }, opened, version ?? opened.version);
    const { metadata } = shared;
    const { recipientId, recipient, fingerprint } = await findRecipient(email);
    const names = { email: normalizeEmail(email), id: recipientId };
    await confirmRecipient(memory, known, { names, fingerprint, metadata });
    const wrappedKey =
      version === undefined
        ? await sealDocumentKey(recipient.publicKey, opened.documentId, opened.documentKey)
        : await sealVersionKey(recipient.publicKey, shared.place, shared.versionKey);
    const identity = await identities.open();
    const share = await http.json(Share, {
      method: 'POST',
      path: `${documentPath(documentId)}/share`,
      idempotencyKey: crypto.randomUUID(),
      json: {
        recipientId,
        wrappedKey: encodeBase64(wrappedKey),
        permissions: ['read'],
        signature: signShare(identity, {
          documentId,
          version: version ?? null,
          recipient,
          wrappedKey,
        }),
        ...(version === undefined ? {} : { version }),
        ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
      },
    });
    return { ...share, fingerprint };
  }

  return {
    shareDocument,

    async enableSharing(proof) {
      return { fingerprint: fingerprintOf(await identities.openRewrapped(proof)) };
    },

    listShares(documentId, { pageSize } = {}) {
      return listPages(http, Share, `${documentPath(documentId)}/shares`, pageSize);
    },

    async unshare(documentId, shareId) {
      const path = `${documentPath(documentId)}/shares/${encodeURIComponent(shareId)}`;
      await http.send({ method: 'DELETE', path });
    },

    async *listShared({ pageSize } = {}) {
      const recipients = await identities.openAll();
      for await (const share of listReceived(pageSize)) {
        yield { ...share, ...(await findContent(recipients, share)) };
      }
    },

    async openShared(shareId, { sharer: expected } = {}) {
      const recipients = await identities.openAll();
      const look = await memory.look();
      for await (const share of listReceived()) {
        if (share.shareId !== shareId) continue;
        const opened = await openShareWithAny(recipients, share);
        await confirmSharer(memory, opened, expected);
        if (share.version === null) {
          const { documentId, place, encryptedMetadata } = opened;
          await look.sawDocument(documentId, stateOf(place, encryptedMetadata));
        }
        return opened;
      }
      throw new ClientError('share_not_found');
    },

    async removeShared(shareId) {
      const path = `/v1/documents/shared/${encodeURIComponent(shareId)}`;
      await http.send({ method: 'DELETE', path });
    },
  };
}

/** Opens a share for a list, in which a share that does not open is an item without content. */
async function findContent(
  recipients: readonly Identity[],
  share: ReceivedShare,
): Promise<Pick<SharedItem, 'metadata' | 'sharerFingerprint'>> {
  try {
    const { metadata, sharerFingerprint } = await openShareWithAny(recipients, share);
    return { metadata, sharerFingerprint };
  } catch (error) {
    if (error instanceof ClientError) return { metadata: undefined, sharerFingerprint: undefined };
    throw error;
  }
}
