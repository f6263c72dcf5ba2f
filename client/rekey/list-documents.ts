import { decryptMetadata } from '../documents/metadata.ts';
import { stateOf, type OpenDependencies } from '../documents/open-document.ts';
import { ClientError } from '../errors/client-error.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import type { RememberedChanges } from '../memory/values/remembered.ts';

/**
 * Lists the states of all documents of the user, and compares each with what is remembered. Leaves
 * out those that no master key opens. Throws what `Look.sawDocument` throws.
 */
export async function listStates(
  { documents, memory }: OpenDependencies,
  keys: MasterKeys,
): Promise<RememberedChanges['documents']> {
  const look = await memory.look();
  const states: RememberedChanges['documents'] = {};
  try {
    for await (const { id: documentId, encryptedMetadata } of documents.list()) {
      const opened = await openState(keys, documentId, encryptedMetadata);
      if (opened === undefined) continue;
      const { state, isPresent } = opened;
      await look.sawDocument(documentId, state, isPresent);
      states[documentId] = state;
    }
    return states;
  } finally {
    look.end();
  }
}

async function openState(keys: MasterKeys, documentId: string, encryptedMetadata: string) {
  try {
    return await openWithAny(keys, async (masterKey) => {
      const { place } = await decryptMetadata(masterKey, { documentId }, encryptedMetadata);
      const state = stateOf(place, encryptedMetadata);
      return { state, isPresent: masterKey === keys.masterKey };
    });
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}
