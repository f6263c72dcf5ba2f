import { z } from 'zod';
import { readVectors } from '../../support/client/vectors.ts';
import { ProofCase } from './case.ts';

const PublicKey = z.strictObject({ keyId: z.string(), publicKey: z.string() });
const CorpusKeys = z.strictObject({
  audit: z.array(PublicKey),
  token: z.array(PublicKey),
  unknown: z.array(PublicKey),
});

/** Reads the proofs with their expected verdicts, and the keys to verify them with. */
export async function readCorpus() {
  return {
    cases: await readVectors('proofs/cases.json', z.array(ProofCase)),
    keys: await readVectors('proofs/keys.json', CorpusKeys),
  };
}
