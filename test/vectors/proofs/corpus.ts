import { z } from 'zod';
import { readVectors } from '../../support/client/vectors.ts';
import { ProofCase } from './case.ts';

const PublicKey = z.strictObject({ keyId: z.string(), publicKey: z.string() });
/** The members of a key in the vault's list of keys by which proofs are judged. */
const KeyFacts = z.strictObject({
  state: z.enum(['CREATED', 'ACTIVE', 'RETIRED', 'COMPROMISED']),
  imported: z.boolean(),
  activatedAt: z.string().nullable(),
  retiredAt: z.string().nullable(),
  compromisedSince: z.string().nullable(),
});
export type CorpusKeyFacts = z.output<typeof KeyFacts>;

const ListedKey = z.strictObject({ ...PublicKey.shape, ...KeyFacts.shape });

const CorpusKeys = z.strictObject({
  audit: z.array(ListedKey),
  token: z.array(ListedKey),
  unknown: z.array(PublicKey),
});

/** Reads the proofs with their expected verdicts, and the keys to verify them with. */
export async function readCorpus() {
  return {
    cases: await readVectors('proofs/cases.json', z.array(ProofCase)),
    keys: await readVectors('proofs/keys.json', CorpusKeys),
  };
}
