import type { ProofDefect, Verdict } from '../../proof/proof.ts';
import { wholeLog } from '../entries/readers.ts';
import type { StoredProof, StoredProofs } from '../proofs/stored-proofs.ts';
import { agreesWithRow } from '../sealing/row-comparison.ts';
import type { VerifyingThreads } from '../verification/verifying-threads.ts';
import type { LogPlace, NumberedRow } from './log-rows.ts';

/** A place at which the log is not whole. */
export interface Finding extends LogPlace {
  readonly defect: ProofDefect | 'row_mismatch' | 'missing';
}

type Proven = Extract<StoredProof, { readonly proof: unknown }>;

interface EntryCheckOptions {
  readonly storedProofs: Pick<StoredProofs, 'findInSlices'>;
  readonly threads: Pick<VerifyingThreads, 'verify'>;
}

/**
 * Creates the function that verifies entries as they are stored, and resolves with what is wrong:
 * a proof that is not valid, a text that contradicts its row, no trail, or no entry with the number
 * before. Entries without a proof (unsigned, erased or abandoned ones) only have to have their
 * places. An entry is no finding for being signed by a key that was compromised later.
 */
export function createEntryCheck({ storedProofs, threads }: EntryCheckOptions) {
  return async (rows: readonly NumberedRow[]): Promise<Finding[]> => {
    const findings = [
      ...rows.filter(({ hasPredecessor }) => !hasPredecessor).map(missingBefore),
      ...rows.filter(isWithoutTrail).map((row) => findingAt(row, 'row_mismatch')),
    ];
    const withTrails = rows.filter((row) => !isWithoutTrail(row));
    const byId = new Map(withTrails.map((row) => [row.id, row]));
    for await (const slice of storedProofs.findInSlices(wholeLog, [...byId.keys()])) {
      const proven = slice.filter((stored) => 'proof' in stored);
      const verdicts = await threads.verify(proven);
      for (const [index, stored] of proven.entries()) {
        const row = byId.get(stored.entryId);
        const defect = row === undefined ? undefined : defectOf(stored, row, verdicts[index]);
        if (row !== undefined && defect !== undefined) findings.push(findingAt(row, defect));
      }
    }
    return findings;
  };
}

function defectOf(
  { proof }: Proven,
  row: NumberedRow,
  verdict: Verdict | undefined,
): Finding['defect'] | undefined {
  if (verdict?.reason !== undefined && verdict.reason !== 'key_compromised') return verdict.reason;
  return agreesWithRow(proof.entryCanonical, row) ? undefined : 'row_mismatch';
}

function isWithoutTrail({ resourceType }: NumberedRow): boolean {
  return resourceType === null;
}

function findingAt({ trailId, seq }: LogPlace, defect: Finding['defect']): Finding {
  return { trailId, seq, defect };
}

function missingBefore({ trailId, seq }: LogPlace): Finding {
  return findingAt({ trailId, seq: seq - 1 }, 'missing');
}
