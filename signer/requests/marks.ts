import type { AuditEntry } from '../protocol/entry.ts';
import { MarkEntry } from '../protocol/mark-entry.ts';
import type { EntryFault, EntryToSeal, SealResult } from '../protocol/protocol.ts';
import type { Sealer } from './sealer.ts';

export type MarkSealer = ReturnType<typeof createMarkSealer>;

/**
 * Creates the function that seals a high-water mark. The text MUST be a mark of this vault, which
 * names the key that signs it among the keys of the vault; else its result is a fault. How many
 * entries it counts and which is the newest is the word of the app. Throws as the sealer does.
 */
export function createMarkSealer({ sealer }: { readonly sealer: Sealer }) {
  return async (keyId: string, entry: EntryToSeal, signal: AbortSignal): Promise<SealResult> => {
    const [result] = await sealer(keyId, [entry], signal, (mark) => findMarkFault(mark, keyId));
    if (result === undefined) throw new TypeError('the sealer returned no result');
    return result;
  };
}

function findMarkFault(entry: AuditEntry, keyId: string): EntryFault | undefined {
  const mark = MarkEntry.safeParse(entry).data;
  return mark?.data.keyIds.includes(keyId) === true ? undefined : 'not_a_mark';
}
