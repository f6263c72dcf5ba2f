import { ClientError } from '../errors/client-error.ts';
import type { Metadata } from '../documents/metadata.ts';
import { stateOf } from '../documents/open-document.ts';
import type { FreshProof } from '../http/fresh-proof.ts';
import { listPages } from '../http/pages.ts';
import type { Look } from '../memory/memory.ts';
import { fingerprintOf, type Identity } from '../identity/identity.ts';
import { confirmSharer } from './confirmation.ts';
import {
  createGivenShares,
  type GivenShares,
  type GivenSharesDependencies,
} from './given-shares.ts';
import { openShareWithAny, ReceivedShare, type OpenedShare } from './received.ts';

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

export interface Sharing extends GivenShares {
  /**
   * Resolves with the fingerprint of the user's identity, 32 hex digits, which the user tells other
   * users over another channel than the vault. Creates the identity if there is none, as may be
   * after an interrupted first login. Throws invalid_envelope, and what
   * `Identities.openCompleted` throws.
   */
  enableSharing(proof?: FreshProof): Promise<{ readonly fingerprint: string }>;
  /**
   * Lists the documents that other users share with this user, newest share first. Throws
   * invalid_envelope and identity_incomplete.
   */
  listShared(options?: { readonly pageSize?: number }): AsyncGenerator<SharedItem, void, void>;
  /**
   * Opens a share by its id. Throws ClientError share_not_found, IdentityError unless `sharer`
   * signed it, or by default a person whose keys were confirmed before as this owner's, if any;
   * RolledBackError if the document was seen in a newer state, or the share stood for something
   * else; and what `openShare` and `listShared` throw.
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
}: GivenSharesDependencies): Sharing {
  const listReceived = (pageSize?: number) =>
    listPages(http, ReceivedShare, '/v1/documents/shared', pageSize);

  return {
    ...createGivenShares({ http, documents, memory, identities, openMasterKeys }),

    async enableSharing(proof) {
      return { fingerprint: fingerprintOf(await identities.openCompleted(proof)) };
    },

    async *listShared({ pageSize } = {}) {
      const recipients = await identities.openAll();
      const look = await memory.look();
      try {
        for await (const share of listReceived(pageSize)) {
          yield { ...share, ...(await findContent(() => open(recipients, share, look))) };
        }
      } finally {
        look.end();
      }
    },

    async openShared(shareId, { sharer: expected } = {}) {
      const recipients = await identities.openAll();
      const look = await memory.look();
      try {
        for await (const share of listReceived()) {
          if (share.shareId !== shareId) continue;
          const opened = await open(recipients, share, look);
          await confirmSharer(memory, opened, expected);
          return opened;
        }
      } finally {
        look.end();
      }
      throw new ClientError('share_not_found');
    },

    async removeShared(shareId) {
      const path = `/v1/documents/shared/${encodeURIComponent(shareId)}`;
      await http.send({ method: 'DELETE', path });
    },
  };
}

/** Opens a share, and compares it with what this device remembers of the share and its document. */
async function open(
  recipients: readonly Identity[],
  share: ReceivedShare,
  look: Look,
): Promise<OpenedShare> {
  const opened = await openShareWithAny(recipients, share);
  const { shareId, version } = share;
  const { documentId, place, encryptedMetadata } = opened;
  await look.sawShare(shareId, { documentId, version });
  if (version === null) await look.sawDocument(documentId, stateOf(place, encryptedMetadata));
  return opened;
}

/** Returns the content of a share for a list: a share that does not open has none. */
async function findContent(
  openShare: () => Promise<OpenedShare>,
): Promise<Pick<SharedItem, 'metadata' | 'sharerFingerprint'>> {
  try {
    const { metadata, sharerFingerprint } = await openShare();
    return { metadata, sharerFingerprint };
  } catch (error) {
    if (error instanceof ClientError) return { metadata: undefined, sharerFingerprint: undefined };
    throw error;
  }
}
