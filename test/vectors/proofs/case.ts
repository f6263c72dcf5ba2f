import { z } from 'zod';
import type { ProofDefect } from '../../../client/proofs/proof.ts';

const Verdict = z.strictObject({
  valid: z.boolean(),
  hashValid: z.boolean(),
  signatureValid: z.boolean(),
});

/** Something to verify. It stands in `proof`, or byte for byte in `text` or `bytes`. */
export const ProofCase = z.strictObject({
  name: z.string(),
  description: z.string(),
  /** `malformed` is no proof at all: the vault answers 400, or 413 above 1 MiB. */
  expected: z.union([Verdict, z.literal('malformed')]),
  /** The first thing wrong. */
  reason: z.custom<ProofDefect>((reason) => typeof reason === 'string').optional(),
  proof: z.unknown().optional(),
  /** For what is no JSON, or not only in what it says. */
  text: z.string().optional(),
  /** Base64, for what is no text. */
  bytes: z.string().optional(),
  /** In the text, or in the members of the proof, each `mark` stands for `text`, `times` over. */
  repeats: z
    .array(z.strictObject({ mark: z.string(), text: z.string(), times: z.int() }))
    .optional(),
});
export type ProofCase = z.output<typeof ProofCase>;
export type Repeat = NonNullable<ProofCase['repeats']>[number];

/** What a file proof.json of this case holds. */
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
