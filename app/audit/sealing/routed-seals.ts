import type { SignerClient } from '../../../signer/protocol/client.ts';
import { isKeyText } from '../../../signer/protocol/reserved-actions.ts';
import type { EntryToSeal, SealResult } from '../../../signer/protocol/protocol.ts';

/**
 * Returns the function that seals a batch of any entries: those of signing keys by the request that
 * checks them against the token, all others together. The results are in the order of the entries.
 */
export function routeSeals(
  signer: Pick<SignerClient, 'seal' | 'sealKeyRecords'>,
): Pick<SignerClient, 'seal'> {
  return {
    async seal(keyId, entries) {
      const records = entries.filter(({ text }) => isKeyText(text));
      if (records.length === 0) return signer.seal(keyId, entries);
      const others = entries.filter(({ text }) => !isKeyText(text));
      const sealed = others.length === 0 ? [] : await signer.seal(keyId, others);
      return inOrder(entries, [...sealed, ...(await signer.sealKeyRecords(keyId, records))]);
    },
  };
}

function inOrder(entries: readonly EntryToSeal[], results: readonly SealResult[]): SealResult[] {
  const byId = new Map(results.map((result) => [result.id, result]));
  return entries.flatMap(({ id }) => byId.get(id) ?? []);
}
