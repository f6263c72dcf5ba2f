import { ClientError } from '../errors/client-error.ts';
import { stateOf } from '../documents/open-document.ts';
import type { FreshProof } from '../http/fresh-proof.ts';
import { listPages } from '../http/pages.ts';
import type { Look } from '../memory/memory.ts';
import { fingerprintOf, type Identity } from '../identity/identity.ts';
import { confirmSharer, type SharerOptions } from './confirmation.ts';
import {
  createGivenShares,
  type GivenShares,
  type GivenSharesDependencies,
} from './given-shares.ts';
import { openShareWithAny, ReceivedShare, type ConfirmedShare } from './received.ts';

/** The content of a received share, and who signed it. */
type SharedContent = Pick<ConfirmedShare, 'metadata' | 'sharerFingerprint' | 'signedBy'>;

/**
 * A received share with its content, all of whose members are undefined if the share cannot be
 * opened: any user may send such a share.
 */
export type SharedItem = ReceivedShare &
  (SharedContent | { readonly [member in keyof SharedContent]: undefined }) & {
    /** The error that `openShared` throws, if the share cannot be opened. */
    readonly refusal: ClientError | undefined;
  };

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
   * Opens a share by its id. Throws ClientError share_not_found, IdentityError unless the expected
   * person signed it, which is by default the one whose keys were confirmed before as this owner's,
   * if any (see `confirmSharer`); RolledBackError if the document was seen in a newer state, or the
   * share stood for something else; and what `openShare` and `listShared` throw.
   */
  openShared(shareId: string, options?: SharerOptions): Promise<ConfirmedShare>;
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
  ...given
}: GivenSharesDependencies): Sharing {
  const listReceived = (pageSize?: number) =>
    listPages(http, ReceivedShare, '/v1/documents/shared', pageSize);

  /**
   * Opens a share, verifies who signed it, and compares it with what is remembered. Nothing is
   * remembered of a share that somebody else signed than expected.
   */
  async function open(
    share: ReceivedShare,
    { recipients, look, expected = {} }: OpenOptions,
  ): Promise<ConfirmedShare> {
    const opened = await openShareWithAny(recipients, share);
    const signedBy = await confirmSharer(memory, opened, expected);
    const { documentId, place, encryptedMetadata, keyHash, sharerFingerprint: signer } = opened;
    const { shareId, version } = share;
    await look.sawShare(shareId, { documentId, version, signer: signer ?? null, keyHash });
    if (version === null && signer !== undefined) {
      const { fingerprints = [] } = (await memory.person(signedBy ?? share.ownerId)) ?? {};
      await look.sawReceived(
        [signer, ...fingerprints],
        documentId,
        stateOf(place, encryptedMetadata),
      );
    }
    return { ...opened, signedBy };
  }

  return {
    ...createGivenShares({ http, documents, memory, identities, ...given }),

    async enableSharing(proof) {
      return { fingerprint: fingerprintOf(await identities.openCompleted(proof)) };
    },

    async *listShared({ pageSize } = {}) {
      const recipients = await identities.openAll();
      const look = await memory.look();
      try {
        for await (const share of listReceived(pageSize)) {
          yield { ...share, ...(await findContent(() => open(share, { recipients, look }))) };
        }
      } finally {
        look.end();
      }
    },

    async openShared(shareId, expected = {}) {
      const recipients = await identities.openAll();
      const look = await memory.look();
      try {
        for await (const share of listReceived()) {
          if (share.shareId !== shareId) continue;
          return await open(share, { recipients, look, expected });
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

/** The user's identities, a look at the vault, and whom the caller expects. */
interface OpenOptions {
  readonly recipients: readonly Identity[];
  readonly look: Look;
  readonly expected?: SharerOptions;
}

/** Returns the content of a share for a list: a share that does not open has none. */
async function findContent(openShare: () => Promise<ConfirmedShare>) {
  try {
    const { metadata, sharerFingerprint, signedBy } = await openShare();
    return { metadata, sharerFingerprint, signedBy, refusal: undefined };
  } catch (refusal) {
    if (!(refusal instanceof ClientError)) throw refusal;
    const nothing = { metadata: undefined, sharerFingerprint: undefined, signedBy: undefined };
    return { ...nothing, refusal };
  }
}
