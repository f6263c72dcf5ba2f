import { decryptMetadata } from '../documents/metadata.ts';
import { stateOf, type OpenDependencies } from '../documents/open-document.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import type { RememberedChanges } from '../memory/values/remembered.ts';
import { leaveOut, type LeftOut } from './left-out.ts';

/** The states that a rekey lists, and what it does not. */
export interface ListedDocuments {
  readonly documents: RememberedChanges['documents'];
  readonly leftOut: readonly LeftOut[];
}

/**
 * Lists the states of all documents of the user, and compares each with what is remembered. Leaves
 * out those that no master key opens, and those that an earlier one made and nobody listed. Throws
 * RolledBackError.
 */
export async function listStates(
  { documents, memory }: OpenDependencies,
  keys: MasterKeys,
): Promise<ListedDocuments> {
  const look = await memory.look();
  const states: RememberedChanges['documents'] = {};
  const leftOut: LeftOut[] = [];
  try {
    for await (const { id: documentId, encryptedMetadata } of documents.list()) {
      try {
        const { state, isPresent } = await openState(keys, documentId, encryptedMetadata);
        await look.sawDocument(documentId, state, isPresent);
        states[documentId] = state;
      } catch (error) {
        leftOut.push(leaveOut('document', documentId, error));
      }
    }
    return { documents: states, leftOut };
  } finally {
    look.end();
  }
}

function openState(keys: MasterKeys, documentId: string, encryptedMetadata: string) {
  return openWithAny(keys, async (masterKey) => {
    const { place } = await decryptMetadata(masterKey, { documentId }, encryptedMetadata);
    const state = stateOf(place, encryptedMetadata);
    return { state, isPresent: masterKey === keys.masterKey };
  });
}
