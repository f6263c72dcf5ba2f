import { z } from 'zod';
import { withPresent, type Author } from '../authorship/author.ts';
import type { SignedStatement, StatedVersion } from '../authorship/statement.ts';
import { encodeBase64 } from '../bytes/base64.ts';
import { Key } from '../crypto/key.ts';
import type { RenewedShares } from '../documents/add-version.ts';
import { documentPath } from '../documents/fields.ts';
import {
  openDocument,
  openVersionOf,
  statedVersionOf,
  type OpenDependencies,
  type OpenedDocument,
  type OpenedVersion,
} from '../documents/open-document.ts';
import { ClientError } from '../errors/client-error.ts';
import { hasCode } from '../errors/vault-error.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import type { Identities } from '../identity/identities.ts';
import { fingerprintOf, type PublicIdentity } from '../identity/identity.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { normalizeEmail } from '../login/email.ts';
import { confirmRecipient, type ConfirmedKey, type ExpectedKey } from './confirmation.ts';
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

/** The shares that the user gave. */
export interface GivenShares {
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
  /**
   * Makes the running shares of all versions of a document anew, of those that the user is known to
   * have given and not to have ended, on this device or another one, for the people whose keys the
   * user confirmed. The others that the vault lists are in `unconfirmed`: nothing vouches for them.
   * They end when the user said they should, whatever the vault says. `addVersion` calls it after
   * the document got a new key. Throws what `openDocument` throws, and VaultError 404 not_found or
   * 429 rate_limited; a repeated call goes on.
   */
  renewShares(documentId: string): Promise<RenewedShares>;
  /** Lists the shares of a document, newest first. Throws VaultError 404 not_found. */
  listShares(
    documentId: string,
    options?: { readonly pageSize?: number },
  ): AsyncGenerator<Share, void, void>;
  /**
   * Ends a share; the recipient keeps what they have read before. States so, if the document opens.
   * It is not made anew from the call on, even if the call fails. Throws VaultError 404 not_found.
   */
  unshare(documentId: string, shareId: string): Promise<void>;
}

export interface GivenSharesDependencies extends OpenDependencies {
  readonly http: Http;
  readonly identities: Identities;
  readonly author: Author;
  readonly openMasterKeys: () => Promise<MasterKeys>;
}

/** A recipient whom the vault showed. */
interface Recipient {
  readonly id: string;
  readonly identity: PublicIdentity;
  readonly fingerprint: string;
}

/** The members of a share that its key and its signature are for, beside the recipient. */
interface NewShare {
  /** The version that is shared, or the current one if all are. */
  readonly stated: StatedVersion;
  /** Seals the key for the public key of the recipient. */
  readonly seal: (publicKey: PublicIdentity['publicKey']) => ReturnType<typeof sealDocumentKey>;
  readonly version?: number | undefined;
  readonly expiresAt?: string | undefined;
  /** Id of a share that ends with this one. */
  readonly replaces?: string;
}

export function createGivenShares({
  http,
  documents,
  memory,
  identities,
  author,
  openMasterKeys,
}: GivenSharesDependencies): GivenShares {
  const open = async (documentId: string) =>
    openDocument({ documents, memory }, { id: documentId, ...(await openMasterKeys()) });

  async function findRecipient(email: string): Promise<Recipient> {
    const { recipientId, ...identity } = await http.json(RecipientKey, {
      method: 'POST',
      path: '/v1/documents/share-key',
      repeatable: true,
      json: { recipientEmail: normalizeEmail(email) },
    });
    return { id: recipientId, identity, fingerprint: fingerprintOf(identity) };
  }

  /** Seals the key for a recipient, states and signs the share, and sends it. */
  async function send(
    { id: recipientId, identity, fingerprint }: Recipient,
    { stated, seal, version, expiresAt, replaces }: NewShare,
  ): Promise<Share> {
    const { documentId } = stated;
    const wrappedKey = await seal(identity.publicKey);
    const authorStatement = await author.state({
      action: 'document.shared',
      ...stated,
      recipientFingerprint: fingerprint,
      sharedVersion: version ?? null,
    });
    const signed = { documentId, version: version ?? null, recipient: identity, wrappedKey };
    return http.json(Share, {
      method: 'POST',
      path: `${documentPath(documentId)}/share`,
      idempotencyKey: crypto.randomUUID(),
      json: {
        recipientId,
        wrappedKey: encodeBase64(wrappedKey),
        permissions: ['read'],
        signature: signShare(await identities.open(), signed),
        authorStatement,
        version,
        expiresAt,
        replaces,
      },
    });
  }

  /** Sends a share to a recipient of whom the e-mail address is known, and remembers it. */
  async function give(email: string, recipient: Recipient, share: NewShare): Promise<Share> {
    const given = await send(recipient, share);
    const { stated, version = null, expiresAt = null } = share;
    const { documentId } = stated;
    const recipientId = recipient.id;
    await memory.gaveShare(given.id, { documentId, recipientId, email, version, expiresAt });
    return given;
  }

  /**
   * Finds what the user gave by a share of all versions that the vault lists, and the recipient, if
   * it runs still and the keys are those that the user confirmed.
   */
  async function findRunning(share: Share) {
    const gift = await memory.givenShare(share.id);
    if (gift === undefined || gift.version !== null || hasEnded(gift)) return undefined;
    if (gift.documentId !== share.documentId) return undefined;
    const [present] = (await memory.person(gift.email))?.fingerprints ?? [];
    const recipient = await findRecipient(gift.email);
    const isConfirmed = recipient.id === gift.recipientId && recipient.fingerprint === present;
    return isConfirmed ? { gift, recipient } : undefined;
  }

  const listShares: GivenShares['listShares'] = (documentId, { pageSize } = {}) =>
    listPages(http, Share, `${documentPath(documentId)}/shares`, pageSize);

  return {
    listShares,

    async shareDocument(documentId, email, { expiresAt, version, ...known }) {
      const openShared = async () => {
        const opened = await open(documentId);
        const shared = await openVersionOf({ documents }, opened, version ?? opened.version);
        return { opened, shared, etag: opened.etag };
      };
      const first = await openShared();
      const recipient = await findRecipient(email);
      const { fingerprint } = recipient;
      const address = normalizeEmail(email);
      const shown = { email: address, recipientId: recipient.id, fingerprint };
      await confirmRecipient(memory, known, { ...shown, metadata: first.shared.metadata });
      const share = async ({ opened, shared }: typeof first) => {
        const seal = version === undefined ? sealingDocument(opened) : sealingVersion(shared);
        const stated = await statedVersionOf(shared);
        const end = expiresAt?.toISOString();
        return give(address, recipient, { stated, seal, version, expiresAt: end });
      };
      return { ...(await withPresent(openShared, share, first)), fingerprint };
    },

    async renewShares(documentId) {
      const opened = await open(documentId);
      const seal = sealingDocument(opened);
      const stated = await statedVersionOf(opened);
      const renewed: Share[] = [];
      const unconfirmed: Share[] = [];
      // The list is read before it changes.
      const running: Share[] = [];
      for await (const share of listShares(documentId)) {
        if (share.version === null && !hasEnded(share)) running.push(share);
      }
      for (const share of running) {
        const known = await findRunning(share);
        if (known === undefined) {
          unconfirmed.push(share);
        } else {
          const expiresAt = known.gift.expiresAt ?? undefined;
          const next = { stated, seal, expiresAt, replaces: share.id };
          renewed.push(await give(known.gift.email, known.recipient, next));
          await memory.endedShare(share.id);
        }
      }
      return { renewed, unconfirmed };
    },

    async unshare(documentId, shareId) {
      // The share is not renewed from now on, even if the vault says that it still runs.
      await memory.endedShare(shareId);
      const path = `${documentPath(documentId)}/shares/${encodeURIComponent(shareId)}`;
      const end = (json?: SignedStatement) => http.send({ method: 'DELETE', path, json });
      try {
        const stated = await statedVersionOf(await open(documentId));
        await end(await author.state({ action: 'document.unshared', ...stated, shareId }));
      } catch (error) {
        // The access ends in any case, also if nothing can be stated of the document.
        if (!(error instanceof ClientError) && !hasCode(error, 'statement_invalid')) throw error;
        await end();
      }
    },
  };
}

function sealingDocument({ documentId, documentKey }: OpenedDocument): NewShare['seal'] {
  return (publicKey) => sealDocumentKey(publicKey, documentId, documentKey);
}

function sealingVersion(opened: OpenedVersion): NewShare['seal'] {
  return (publicKey) => sealVersionKey(publicKey, opened, opened.versionKey);
}

function hasEnded({ expiresAt }: Pick<Share, 'expiresAt'>): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now();
}
