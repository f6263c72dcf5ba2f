import { UnlistedError } from '../errors/unlisted-error.ts';
import type { Look } from './memory.ts';
import type { Recollection } from './values/recollection.ts';
import { receivedName, type DocumentState, type RememberedShare } from './values/remembered.ts';

interface LookOptions {
  readonly recollection: Recollection;
  /** Returns whether a rekey listed the documents that were there. */
  readonly hasList: () => boolean;
  readonly keepDocument: (id: string, state: DocumentState) => Promise<void>;
  readonly keepShare: (id: string, share: RememberedShare) => Promise<void>;
}

/** Begins a look at documents and shares. */
export function lookAtDocuments({
  recollection,
  hasList,
  keepDocument,
  keepShare,
}: LookOptions): Look {
  const { since, end } = recollection.beginLook();
  return {
    end,

    async sawDocument(given, state, isPresent = true) {
      const id = given.toLowerCase();
      recollection.compareDocument(id, state, since);
      const isListed = isPresent || recollection.isKnown(id, state, since);
      if (hasList() && !isListed) throw new UnlistedError('document', id);
      await keepDocument(id, state);
    },

    async sawReceived(signers, id, state) {
      for (const signer of signers) {
        recollection.compareDocument(receivedName(signer, id), state, since);
      }
      await keepDocument(receivedName(signers[0], id), state);
    },

    async sawShare(id, share) {
      recollection.compareShare(id, share);
      if (!recollection.hasShare(id)) await keepShare(id, share);
    },
  };
}
