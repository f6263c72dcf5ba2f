import * as fc from 'fast-check';
import { verifyOriginal } from '../../../client/disclosure/verify-original.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import { sourceOf } from '../client/stored.ts';
import { applyChange, chosenChanges, createBases } from './changes.ts';
import { sealFingerprint } from './sealed-original.ts';

/**
 * Verifies disclosures with one change each. Resolves with the number of each reason for which they
 * were refused. Throws if one is not refused.
 */
export async function countRefusals(
  parameters: Required<Pick<fc.Parameters, 'numRuns' | 'seed'>>,
): Promise<ReadonlyMap<string, number>> {
  const bases = await createBases();
  const refusals = new Map<string, number>();
  const property = fc.asyncProperty(chosenChanges, async (change) => {
    const { bytes, ...given } = applyChange(bases, change);
    const verdict = await verifyOriginal({
      ...given,
      source: sourceOf(bytes),
      createHash: createNodeHash,
      trustedKeys: [sealFingerprint],
    });
    if (verdict.valid) return false;
    refusals.set(verdict.reason, (refusals.get(verdict.reason) ?? 0) + 1);
    return true;
  });
  await fc.assert(property, { ...parameters, endOnFailure: true });
  return refusals;
}
