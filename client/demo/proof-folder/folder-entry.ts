import { z } from 'zod';
import { verifyAuthor, type AuthorVerdict } from '../../authorship/verify-author.ts';
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
  /** The author of the seal, as far as the entry shows who that is. */
  readonly author: AuthorVerdict;
}

/** Reads the entry of a seal. Throws DemoError if the proof is of another entry. */
export function readFolderEntry(proof: AuditProof): FolderEntry {
  const { entryCanonical } = proof;
  const entry = SealedEntry.safeParse(JSON.parse(entryCanonical)).data;
  if (entry === undefined) throw new DemoError('the signed entry seals no document');
  const { issuer, timestamp, actor, resource, data } = entry;
  const author = verifyAuthor(proof);
  return { issuer, timestamp, actorId: actor.id, documentId: resource.id, ...data, author };
}
