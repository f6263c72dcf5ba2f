import { isOfMonths, readMonthsAway, type Month } from '../../audit-trail/archived-months.ts';
import { createFairSlots } from '../../async/fair-slots.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { KeyRegistry } from '../../signing-keys/registry.ts';
import { verifyProof, type AuditProof, type Verdict } from '../../proof/proof.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { absences } from '../../proof/schema.ts';
import type { Absence, StoredProof, StoredProofs } from '../proofs/stored-proofs.ts';
import { findHeldSince } from './held-entries.ts';
import type { VerifyingThreads } from './verifying-threads.ts';

/**
 * The verdict on an entry. If there is nothing to verify, `reason` says why and the first three
 * members of the verdict are false.
 */
interface EntryVerdict extends Omit<Verdict, 'reason'> {
  readonly reason?: Verdict['reason'] | Absence['reason'];
}

interface BatchVerdict {
  readonly total: number;
  readonly valid: number;
  readonly invalid: number;
  readonly results: Readonly<Record<string, EntryVerdict>>;
}

interface LogStatus {
  readonly checked: number;
  readonly valid: number;
  readonly invalid: number;
  /** Number of entries that are not signed yet and so were not checked. */
  readonly pending: number;
  readonly message: string;
}

interface VerificationOptions {
  readonly db: Database;
  readonly proofs: Proofs;
  readonly storedProofs: StoredProofs;
  readonly registry: KeyRegistry;
  readonly threads: VerifyingThreads;
}

export type Verification = ReturnType<typeof createVerification>;

/** Creates the service that verifies entries as they are stored now; verdicts are not cached. */
export function createVerification(options: VerificationOptions) {
  const { db, proofs, storedProofs, registry, threads } = options;
  const turns = createFairSlots({ perKey: 1 });

  async function verifySlice(stored: readonly StoredProof[]): Promise<[string, EntryVerdict][]> {
    const verdicts = await threads.verify(stored.filter((one) => 'proof' in one));
    const next = verdicts.values();
    return stored.map((one) => [
      one.entryId,
      'absence' in one ? unverified(one.absence) : takeNext(next),
    ]);
  }

  /**
   * Verifies entries slice by slice, since a thousand entries may have 64 MiB of text. A user's
   * requests take turns, so that each user has one slice in memory.
   */
  function verifyAll(
    caller: Caller,
    entryIds: readonly string[],
  ): Promise<[string, EntryVerdict][]> {
    return turns.take(caller.userId, async () => {
      const verdicts: [string, EntryVerdict][] = [];
      for await (const slice of storedProofs.findInSlices(caller, entryIds)) {
        verdicts.push(...(await verifySlice(slice)));
      }
      return verdicts;
    });
  }

  return {
    /** Verifies one entry. Throws the errors of Proofs.get if there is nothing to verify. */
    async verify(caller: Caller, entryId: string): Promise<Verdict> {
      const [stored] = await storedProofs.find(caller, [entryId]);
      if (stored === undefined) throw new AppError('not_found');
      if ('absence' in stored) return proofs.refuse(entryId, stored.absence);
      return verifyProof(stored.proof, stored.key, stored.heldSince);
    },

    /** Verifies several entries, each id once, in the order of the ids. */
    async verifyBatch(caller: Caller, entryIds: readonly string[]): Promise<BatchVerdict> {
      const results = await verifyAll(caller, [...new Set(entryIds)]);
      const valid = results.filter(([, verdict]) => verdict.valid).length;
      const total = results.length;
      return { total, valid, invalid: total - valid, results: Object.fromEntries(results) };
    },

    /**
     * Verifies an audit proof from outside of the vault with the registered key that it names.
     * Throws entry_archived if the key is compromised and the month of the entry is away, so that
     * nobody can tell whether the vault held the entry before.
     */
    async verifyExternal(proof: AuditProof): Promise<Verdict> {
      let key = await registry.find(proof.hsmKeyId);
      if (key?.state === 'CREATED') {
        // Another process may have just activated the key.
        await registry.refresh();
        key = await registry.find(proof.hsmKeyId);
      }
      if (key?.state !== 'COMPROMISED') return verifyProof(proof, key, undefined);
      const heldSince = await findHeldSince(db, proof);
      if (heldSince === undefined && isOfMonths(await db.asService(readMonthsAway), proof.id)) {
        throw new AppError('entry_archived');
      }
      return verifyProof(proof, key, heldSince);
    },

    /** Verifies the newest entries that the caller may see. */
    async verifyNewest(caller: Caller, limit: number): Promise<LogStatus> {
      const newest = await storedProofs.findNewestIds(caller, limit);
      // The limit is reached before any month that is away, unless the log ends before it.
      const away = newest.length < limit ? await db.asService(readMonthsAway) : [];
      const verdicts = await verifyAll(caller, newest);
      const count = (is: (verdict: EntryVerdict) => boolean) =>
        verdicts.filter(([, verdict]) => is(verdict)).length;
      const checked = count(({ reason }) => !absenceReasons.has(reason));
      const valid = count((verdict) => verdict.valid);
      const pending = count(({ reason }) => reason === 'proof_not_ready');
      const abandoned = count(({ reason }) => reason === 'entry_unrecoverable');
      const message = describe({ checked, valid, pending, abandoned, away });
      return { checked, valid, invalid: checked - valid, pending, message };
    },
  };
}

/** Reasons why an entry has no proof to verify. */
const absenceReasons: ReadonlySet<EntryVerdict['reason']> = new Set(absences);

function unverified({ reason }: Absence): EntryVerdict {
  return { valid: false, hashValid: false, signatureValid: false, reason };
}

function takeNext(verdicts: Iterator<Verdict>): Verdict {
  const next = verdicts.next();
  if (next.done === true) throw new Error('the threads returned too few verdicts');
  return next.value;
}

interface Counts {
  readonly checked: number;
  readonly valid: number;
  readonly pending: number;
  readonly abandoned: number;
  readonly away: readonly Month[];
}

function describe({ checked, valid, pending, abandoned, away }: Counts): string {
  const found =
    valid === checked
      ? `All ${checked} signed entries are valid.`
      : `${checked - valid} of ${checked} signed entries are NOT valid.`;
  const waiting = pending === 0 ? '' : ` ${pending} pending: not signed yet.`;
  const lost = abandoned === 0 ? '' : ` ${abandoned} given up: a signed tombstone says so.`;
  const archived = away.length === 0 ? '' : ` Archived, and left out: ${away.join(', ')}.`;
  return found + waiting + lost + archived;
}
