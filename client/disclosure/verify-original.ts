import { z } from 'zod';
import { Hex32 } from '../content/content.ts';
import { createWasmHash, type CreateHash } from '../crypto/hash.ts';
import {
  verifyAuthor,
  type AuthorDefect,
  type AuthorOptions,
  type AuthorVerdict,
} from '../authorship/verify-author.ts';
import type { ByteSource } from '../files/byte-source.ts';
import { AuditProof } from '../proofs/proof-format.ts';
import {
  verifyProof,
  type ProofDefect,
  type ProofVerdict,
  type VerifyOptions,
} from '../proofs/verify-proof.ts';
import { verifyOpening, type OpeningDefect, type Proven } from './verify-opening.ts';

const SealedEntry = z.object({
  action: z.literal('document.sealed'),
  outcome: z.literal('success'),
  resource: z.object({ type: z.literal('document'), id: z.string() }),
  data: z.object({ version: z.int(), contentCommitment: z.unknown().optional() }),
});

/** Why a file is not the original of a seal: the first defect that was found. */
export type OriginalDefect =
  | ProofDefect
  /** The entry seals no document. */
  | 'other_action'
  /** The entry has no content commitment, so that it says nothing of the original. */
  | 'no_commitment'
  /** A fingerprint of the author was given, and the entry holds no statement. */
  | 'statement_missing'
  | AuthorDefect
  | OpeningDefect;

interface ProvenOriginal {
  readonly valid: true;
  readonly proof: ProofVerdict;
  /** The document and the version of which the entry speaks. */
  readonly documentId: string;
  readonly version: number;
  readonly proven: Proven;
  /** The author of the seal, as far as the entry shows who that is. */
  readonly author: Exclude<AuthorVerdict, { readonly standing: 'invalid' }>;
}

interface OtherOriginal {
  readonly valid: false;
  readonly proof: ProofVerdict;
  readonly reason: OriginalDefect;
  /** The index of the segment, for other_segment. */
  readonly segment?: number;
}

export type OriginalVerdict = ProvenOriginal | OtherOriginal;

export interface OriginalOptions extends VerifyOptions, AuthorOptions {
  readonly proof: unknown;
  /** The parsed JSON of opening.json. */
  readonly opening: unknown;
  /**
   * The file. For an opening of segments it has the full size, and the other bytes may be anything,
   * such as zeros.
   */
  readonly source: ByteSource;
  /** The default runs in WebAssembly; `client/node/hash.ts` is faster in Node. */
  readonly createHash?: CreateHash;
}

/**
 * Verifies without the vault that a file, or chosen segments of it, are what was sealed: the audit
 * proof as `verifyProof` does, that its entry seals a version of a document, the author's statement
 * in it as `verifyAuthor` does, that the opening is one of the entry's content commitment, and that
 * the file is what the opening speaks of. Never throws, whatever proof and opening hold; an error
 * of `source` is thrown as it is.
 */
export async function verifyOriginal({
  proof,
  opening,
  source,
  createHash = createWasmHash,
  fingerprint,
  identityChanges,
  ...options
}: OriginalOptions): Promise<OriginalVerdict> {
  const verdict = verifyProof(proof, options);
  const refuse = (reason: OriginalDefect) => ({ valid: false, proof: verdict, reason }) as const;
  if (verdict.reason !== undefined) return refuse(verdict.reason);
  const entry = findSealedEntry(proof);
  if (entry === undefined) return refuse('other_action');
  const { resource, data } = entry;
  const commitment = Hex32.safeParse(data.contentCommitment).data;
  if (commitment === undefined) return refuse('no_commitment');
  const author = verifyAuthor(entry.recorded, { fingerprint, identityChanges });
  if (author.standing === 'invalid') return refuse(author.reason);
  if (author.standing === 'vault_word' && fingerprint !== undefined) {
    return refuse('statement_missing');
  }
  const opened = await verifyOpening(opening, { commitment, source, createHash });
  const named = { documentId: resource.id, version: data.version, author };
  return opened.valid ? { ...opened, proof: verdict, ...named } : { ...opened, proof: verdict };
}

/**
 * Returns the content commitment of a seal, 64 hex digits; undefined if it has none. The proof MUST
 * have been verified.
 */
export function readCommitment(proof: AuditProof): string | undefined {
  return Hex32.safeParse(findSealedEntry(proof)?.data.contentCommitment).data;
}

/** Returns the entry of a proof that was verified; undefined if it seals no document. */
function findSealedEntry(proof: unknown) {
  const { data } = AuditProof.safeParse(proof);
  if (data === undefined) return undefined;
  const entry = SealedEntry.safeParse(JSON.parse(data.entryCanonical)).data;
  return entry === undefined ? undefined : { ...entry, recorded: data };
}
