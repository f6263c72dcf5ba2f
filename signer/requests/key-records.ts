import { hash } from 'node:crypto';
import type { KeyDirectory } from '../hsm/key-directory.ts';
import { KeyRecord } from '../protocol/key-record.ts';
import type { EntryFault, EntryToSeal, PublicKey, SealResult } from '../protocol/protocol.ts';
import type { KeyProof } from './key-proof.ts';
import type { Sealer } from './sealer.ts';

export type KeyRecordSealer = ReturnType<typeof createKeyRecordSealer>;

interface KeyRecordSealerOptions {
  readonly keys: Pick<KeyDirectory, 'list'>;
  readonly sealer: Sealer;
  readonly proves: KeyProof;
}

/**
 * Creates the function that seals the entries of signing keys. What they say of a key MUST be what
 * the token holds: an entry that says otherwise, and one of a key that the token does not hold
 * unless it says so, gets its fault. Throws as the sealer does.
 */
export function createKeyRecordSealer({ keys, sealer, proves }: KeyRecordSealerOptions) {
  return async (
    keyId: string,
    entries: readonly EntryToSeal[],
    signal: AbortSignal,
  ): Promise<SealResult[]> => {
    const held = new Map((await keys.list()).keys.map((key) => [key.keyId, key]));
    const strange = new Set<string>();
    for (const key of held.values()) {
      const isNamed = entries.some(({ text }) => text.includes(key.keyId));
      if (isNamed && !(await proves(key))) strange.add(key.keyId);
    }
    return sealer(keyId, entries, signal, (entry) => {
      const record = KeyRecord.safeParse(entry).data;
      if (record === undefined) return 'not_a_key_record';
      // Nobody could tell whether the owner of the key or somebody else says so.
      if (record.action === 'key.compromised' && record.resource.id === keyId)
        return 'signed_by_itself';
      const key = held.get(record.resource.id);
      if (key === undefined) return faultOfUnheld(record);
      return strange.has(key.keyId) || !agrees(record, key) ? 'key_differs' : undefined;
    });
  };
}

/** Returns the fault of an entry of a key that the token lacks, unless it says that it is lost. */
function faultOfUnheld(record: KeyRecord): EntryFault | undefined {
  return 'lost' in record.data && record.data.lost === true ? undefined : 'key_not_held';
}

/** Returns whether all that an entry says of a key is what the token says of it. */
function agrees({ action, data }: KeyRecord, key: PublicKey): boolean {
  if (data.purpose !== key.purpose) return false;
  if (action !== 'key.created') return !('lost' in data);
  return (
    data.generation === key.generation &&
    data.algorithm === key.algorithm &&
    data.publicKey === key.publicKey &&
    data.fingerprint === hash('sha256', Buffer.from(key.publicKey, 'base64')) &&
    data.imported === key.imported
  );
}
