import type { EntryReader } from '../audit/entries/readers.ts';
import type { Proofs } from '../audit/proofs/proofs.ts';
import { AppError } from '../errors/app-error.ts';
import type { AuditProof } from '../proof/proof.ts';

/** How long an export waits for the seal of an entry. */
const sealWaitMs = 30_000;
/** Number of entries whose proofs are in memory at once: 100 of 64 KiB at most. */
const pageSize = 100;

/** An entry of a document's trail. */
export interface TrailEntry {
  readonly seq: number;
  /** The proof of the entry or, for an entry that was abandoned, of its tombstone. */
  readonly proof: AuditProof;
}

/**
 * Yields the entries 1 to `through` of a document, in the order of their numbers. Throws
 * proof_not_ready if the seal of one is long in coming.
 */
export async function* readTrail(
  proofs: Proofs,
  reader: EntryReader,
  { documentId, through }: { readonly documentId: string; readonly through: number },
): AsyncGenerator<TrailEntry, void, void> {
  const resource = { type: 'document', id: documentId };
  for (let after = 0; after < through;) {
    const limit = Math.min(pageSize, through - after);
    const rows = await proofs.findOfResource(reader, resource, { after, limit });
    const found = await proofs.list(
      reader,
      rows.map(({ id }) => id),
    );
    const byId = new Map(found.map((proof) => [proof.id, proof]));
    for (const { id, seq } of rows) {
      if (seq !== after + 1) throw missing(documentId, after + 1);
      yield { seq, proof: byId.get(id) ?? (await waitForProof(proofs, reader, id)) };
      after = seq;
    }
    if (rows.length < limit) throw missing(documentId, after + 1);
  }
}

function missing(documentId: string, seq: number): Error {
  return new Error(`the entry ${seq} of the document ${documentId} is not in the log`);
}

/** Waits for the proof of an entry, or of the tombstone of an entry that was abandoned. */
export async function waitForProof(
  proofs: Proofs,
  reader: EntryReader,
  entryId: string,
): Promise<AuditProof> {
  try {
    const proof = await proofs.waitFor(reader, entryId, { ms: sealWaitMs });
    if (proof === undefined) throw new AppError('proof_not_ready', { retryAfterSeconds: 60 });
    return proof;
  } catch (error) {
    const tombstoneId = tombstoneOf(error);
    if (tombstoneId === undefined) throw error;
    return waitForProof(proofs, reader, tombstoneId);
  }
}

function tombstoneOf(error: unknown): string | undefined {
  if (!(error instanceof AppError) || error.code !== 'entry_unrecoverable') return undefined;
  const proofId = error.members?.['proofId'];
  return typeof proofId === 'string' && proofId !== '' ? proofId : undefined;
}
