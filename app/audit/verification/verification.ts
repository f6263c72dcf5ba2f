import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { KeyRegistry } from '../../keys/registry.ts';
import { verifyProof, type AuditProof, type Verdict } from '../../proof/proof.ts';
import type { Proofs } from '../proofs/proofs.ts';
import type { Absence, StoredProof, StoredProofs } from '../proofs/stored-proofs.ts';
import type { VerifyingThreads } from './verifying-threads.ts';

/** A verdict, or why there is nothing to verify: then none of the three is true. */
interface EntryVerdict extends Verdict {
  readonly reason?: Absence['reason'];
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
  /** Not signed yet, so not checked. */
  readonly pending: number;
  readonly message: string;
}

/** Verifies what is stored now, each time anew: no verdict is kept. */
export interface Verification {
  /** Throws as Proofs.get does where there is nothing to verify. */
  verify(caller: Caller, entryId: string): Promise<Verdict>;
  /** Each id once, in their order. */
  verifyBatch(caller: Caller, entryIds: readonly string[]): Promise<BatchVerdict>;
  verifyExternal(proof: AuditProof): Promise<Verdict>;
  /** The newest entries that the caller may see. */
  verifyNewest(caller: Caller, limit: number): Promise<LogStatus>;
}

interface VerificationOptions {
  readonly proofs: Proofs;
  readonly storedProofs: StoredProofs;
  readonly registry: KeyRegistry;
  readonly threads: VerifyingThreads;
}

export function createVerification(options: VerificationOptions): Verification {
  const { proofs, storedProofs, registry, threads } = options;

  async function verifyAll(stored: readonly StoredProof[]): Promise<[string, EntryVerdict][]> {
    const verdicts = await threads.verify(stored.filter((one) => 'proof' in one));
    const next = verdicts.values();
    return stored.map((one) => [
      one.entryId,
      'absence' in one ? unverified(one.absence) : takeNext(next),
    ]);
  }

  return {
    async verify(caller, entryId) {
      const [stored] = await storedProofs.find(caller, [entryId]);
      if (stored === undefined) throw new AppError('not_found');
      if ('absence' in stored) return proofs.refuse(entryId, stored.absence);
      return verifyProof(stored.proof, stored.key);
    },

    async verifyBatch(caller, entryIds) {
      const stored = await storedProofs.find(caller, [...new Set(entryIds)]);
      const results = await verifyAll(stored);
      const valid = results.filter(([, verdict]) => verdict.valid).length;
      const total = results.length;
      return { total, valid, invalid: total - valid, results: Object.fromEntries(results) };
    },

    verifyExternal: async (proof) => verifyProof(proof, await registry.find(proof.hsmKeyId)),

    async verifyNewest(caller, limit) {
      const verdicts = await verifyAll(await storedProofs.findNewest(caller, limit));
      const count = (is: (verdict: EntryVerdict) => boolean) =>
        verdicts.filter(([, verdict]) => is(verdict)).length;
      const checked = count(({ reason }) => reason === undefined);
      const valid = count((verdict) => verdict.valid);
      const pending = count(({ reason }) => reason === 'proof_not_ready');
      const abandoned = count(({ reason }) => reason === 'entry_unrecoverable');
      const message = describe({ checked, valid, pending, abandoned });
      return { checked, valid, invalid: checked - valid, pending, message };
    },
  };
}

function unverified({ reason }: Absence): EntryVerdict {
  return { valid: false, hashValid: false, signatureValid: false, reason };
}

function takeNext(verdicts: Iterator<Verdict>): Verdict {
  const next = verdicts.next();
  if (next.done === true) throw new Error('a proof was not verified');
  return next.value;
}

interface Counts {
  readonly checked: number;
  readonly valid: number;
  readonly pending: number;
  readonly abandoned: number;
}

function describe({ checked, valid, pending, abandoned }: Counts): string {
  const found =
    valid === checked
      ? `All ${checked} signed entries are valid.`
      : `${checked - valid} of ${checked} signed entries are NOT valid.`;
  const waiting = pending === 0 ? '' : ` ${pending} pending: not signed yet.`;
  const lost = abandoned === 0 ? '' : ` ${abandoned} given up: a signed tombstone says so.`;
  return found + waiting + lost;
}
