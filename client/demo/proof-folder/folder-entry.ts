import { z } from 'zod';
import type { AuditProof } from '../../proofs/proof-format.ts';
import { DemoError } from '../terminal/demo-error.ts';

const SealedEntry = z.object({
  action: z.literal('document.sealed'),
  issuer: z.string(),
  timestamp: z.string(),
  actor: z.object({ id: z.string() }),
  resource: z.object({ id: z.string() }),
  data: z.object({
    version: z.int(),
    size: z.int(),
    fileHash: z.string(),
    metadataHash: z.string(),
    author: z.unknown().optional(),
  }),
});

/** The members of a sealed entry that the README.txt of a proof folder explains. */
export interface FolderEntry {
  readonly issuer: string;
  readonly timestamp: string;
  readonly actorId: string;
  readonly documentId: string;
  readonly version: number;
  /** Bytes of the encrypted file. */
  readonly size: number;
  readonly fileHash: string;
  readonly metadataHash: string;
  /** Whether the author of the seal has signed a statement, which the entry holds. */
  readonly hasStatement: boolean;
}

/** Reads the entry of a seal. Throws DemoError if the proof is of another entry. */
export function readFolderEntry({ entryCanonical }: AuditProof): FolderEntry {
  const entry = SealedEntry.safeParse(JSON.parse(entryCanonical)).data;
  if (entry === undefined) throw new DemoError('the signed entry seals no document');
  const { issuer, timestamp, actor, resource, data } = entry;
  const { author, ...hashes } = data;
  const hasStatement = author !== undefined;
  return { issuer, timestamp, actorId: actor.id, documentId: resource.id, ...hashes, hasStatement };
}
