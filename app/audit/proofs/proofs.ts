import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { AuditProof } from '../../proof/proof.ts';
import type { EntryReader } from '../entries/readers.ts';
import type { Sealer } from '../sealing/sealer.ts';
import type { Absence, StoredProofs } from './stored-proofs.ts';

/** The audit proofs of the entries that a caller may see. */
export interface Proofs {
  /**
   * Returns the audit proof of an entry. Throws not_found if there is no entry that the caller may
   * see, proof_not_ready until the entry is signed, entry_unrecoverable with the tombstone's id as
   * `proofId` if the entry was abandoned, entry_erased, or entry_archived while its month is away.
   */
  get(caller: EntryReader, entryId: string): Promise<AuditProof>;
  /**
   * Returns the audit proofs of the entries that have a proof, in the order of `entryIds`. Reads
   * all of them at once: `findOfResource` tells how many are not too many.
   */
  list(caller: EntryReader, entryIds: readonly string[]): Promise<AuditProof[]>;
  /** Returns a page of the entries of a resource that the caller may see, as StoredProofs does. */
  readonly findOfResource: StoredProofs['findOfResource'];
  /** Returns the number of the last entry of a resource; 0 if the caller sees none. */
  readonly findLastOfResource: StoredProofs['findLastOfResource'];
  /** Counts the entries of a resource that the log lacks, as StoredProofs does. */
  readonly countMissingOfResource: StoredProofs['countMissingOfResource'];
  /** Returns the proofs of the last restores of the vault, newest first. */
  readonly findRestores: StoredProofs['findRestores'];
  /**
   * Waits for the audit proof of an entry. Resolves with undefined if the entry is not signed
   * within `ms`. Rejects with any error of `get` except proof_not_ready.
   */
  waitFor(
    caller: EntryReader,
    entryId: string,
    options: WaitOptions,
  ): Promise<AuditProof | undefined>;
  /** Rejects with the error by which `get` reports that an entry has no proof. */
  refuse(entryId: string, absence: Absence): Promise<never>;
}

interface WaitOptions {
  readonly ms: number;
  /**
   * Whether the entry was appended just now: then it is first looked for once a process has told
   * that it is sealed, or after half a second.
   */
  readonly isNew?: boolean;
}

/**
 * Milliseconds after which a waiting proof is looked for although no process has told of it.
 */
const recheckMs = 500;

interface ProofsOptions {
  readonly db: Database;
  readonly storedProofs: StoredProofs;
  readonly sealer: Sealer;
}

export function createProofs({ db, storedProofs, sealer }: ProofsOptions): Proofs {
  async function refuse(entryId: string, absence: Absence): Promise<never> {
    const { reason, retryAfterSeconds } = absence;
    if (reason !== 'entry_unrecoverable') throw new AppError(reason, { retryAfterSeconds });
    const letter = await db.asService((tx) =>
      tx
        .selectFrom('audit_dead_letters')
        .select('tombstone_id')
        .where('entry_id', '=', entryId)
        .executeTakeFirst(),
    );
    throw new AppError(reason, { members: { proofId: letter?.tombstone_id ?? '' } });
  }

  async function get(caller: EntryReader, entryId: string): Promise<AuditProof> {
    const [stored] = await storedProofs.find(caller, [entryId]);
    if (stored === undefined) throw new AppError('not_found');
    if ('absence' in stored) return refuse(entryId, stored.absence);
    if (stored.key === undefined) {
      throw new Error(`audit key ${stored.proof.hsmKeyId} is not in the registry`);
    }
    return stored.proof;
  }

  return {
    get,
    refuse,
    async list(caller, entryIds) {
      const stored = await storedProofs.find(caller, entryIds);
      return stored.flatMap((found) => ('proof' in found ? [found.proof] : []));
    },
    findOfResource: storedProofs.findOfResource,
    findLastOfResource: storedProofs.findLastOfResource,
    countMissingOfResource: storedProofs.countMissingOfResource,
    findRestores: storedProofs.findRestores,
    async waitFor(caller, entryId, { ms, isNew = false }) {
      using watch = sealer.watch(entryId);
      const deadline = performance.now() + ms;
      if (isNew) await watch.sealed(recheckMs);
      for (;;) {
        try {
          return await get(caller, entryId);
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'proof_not_ready') throw error;
        }
        if (performance.now() > deadline) return undefined;
        await watch.sealed(recheckMs);
      }
    },
  };
}
