import { z } from 'zod';
import type { ProofDefect } from '../../../client/proofs/verify-proof.ts';

const Verdict = z.strictObject({
  valid: z.boolean(),
  hashValid: z.boolean(),
  signatureValid: z.boolean(),
});

/** A file to verify, given by its members in `proof`, or byte for byte in `text` or `bytes`. */
export const ProofCase = z.strictObject({
  name: z.string(),
  description: z.string(),
  /**
   * The verdict. `malformed` means no proof at all: the vault responds with 400, or 413 above 1
   * MiB.
   */
  expected: z.union([Verdict, z.literal('malformed')]),
  /** The first defect that verification finds. */
  reason: z.custom<ProofDefect>((reason) => typeof reason === 'string').optional(),
  proof: z.unknown().optional(),
  /** The file as text, if it is no JSON or if its exact spelling matters. */
  text: z.string().optional(),
  /** The file in base64, if it is no text. */
  bytes: z.string().optional(),
  /**
   * Replacements in the text, or in the members of the proof: each `mark` stands for `text`,
   * repeated `times` times.
   */
  repeats: z
    .array(z.strictObject({ mark: z.string(), text: z.string(), times: z.int() }))
    .optional(),
});
export type ProofCase = z.output<typeof ProofCase>;
export type Repeat = NonNullable<ProofCase['repeats']>[number];

/** Returns the bytes of the file proof.json of a case. */
export function proofBytes({ proof, text, bytes, repeats = [] }: ProofCase): Buffer {
  if (bytes !== undefined) return Buffer.from(bytes, 'base64');
  if (text !== undefined) return Buffer.from(repeat(text, repeats));
  const repeated = (_name: string, value: unknown) =>
    typeof value === 'string' ? repeat(value, repeats) : value;
  return Buffer.from(JSON.stringify(proof, repeated));
}

export function repeat(text: string, repeats: readonly Repeat[]): string {
  return repeats.reduce(
    (whole, { mark, text, times }) => whole.replaceAll(mark, text.repeat(times)),
    text,
  );
}

type Expected = Pick<ProofCase, 'expected' | 'reason'>;

export const valid: Expected = {
  expected: { valid: true, hashValid: true, signatureValid: true },
};
export const malformed: Expected = { expected: 'malformed', reason: 'malformed' };

export function wrongHash(reason: ProofDefect): Expected {
  return { expected: { valid: false, hashValid: false, signatureValid: true }, reason };
}

export function wrongSignature(reason: ProofDefect): Expected {
  return { expected: { valid: false, hashValid: true, signatureValid: false }, reason };
}

export function wrongBoth(reason: ProofDefect): Expected {
  return { expected: { valid: false, hashValid: false, signatureValid: false }, reason };
}
