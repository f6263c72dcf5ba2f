import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64 } from '../../bytes/base64.ts';
import type { Document } from '../../documents/documents.ts';
import { DemoError } from '../terminal/demo-error.ts';

const SealedEntry = z.object({
  action: z.literal('document.sealed'),
  timestamp: z.iso.datetime(),
  resource: z.object({ type: z.literal('document'), id: z.uuid() }),
  data: z.object({ fileHash: z.string(), size: z.int(), metadataHash: z.string() }),
});
export type SealedEntry = z.output<typeof SealedEntry>;

/**
 * Parses an audit entry. Throws DemoError unless the entry records the sealing of this document,
 * since a valid proof may be that of another entry.
 */
export function readSealedEntry(entryCanonical: string, document: Document): SealedEntry {
  const entry = SealedEntry.safeParse(JSON.parse(entryCanonical)).data;
  const metadataHash = bytesToHex(sha3_256(decodeBase64(document.encryptedMetadata)));
  const isOfDocument =
    entry?.resource.id === document.id &&
    entry.data.fileHash === document.fileHash &&
    entry.data.metadataHash === metadataHash;
  if (!isOfDocument) throw new DemoError('the signed entry does not seal this document');
  return entry;
}
