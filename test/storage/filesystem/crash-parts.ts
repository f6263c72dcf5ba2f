import type { StoredPart } from '../../../app/storage/interface/object-store.ts';
import { testBytes } from '../../support/documents/bytes.ts';

export type CrashEvent = { readonly key: string; readonly uploadId: string } & (
  | { type: 'opened' | 'aborting' | 'aborted' | 'deleting' | 'deleted' }
  | { readonly type: 'sent'; readonly parts: StoredPart[] }
  | { readonly type: 'completed'; readonly version: string }
);

/** Returns the parts that the crash test stores under a key. */
export function crashParts(key: string): Buffer[] {
  const seed = Number.parseInt(key.slice(0, 8), 16);
  return [300_000, 200_000, 1 + (seed % 100_000)].map((size, i) => testBytes(size, seed + i));
}
