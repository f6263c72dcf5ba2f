import * as fc from 'fast-check';
import { kinds, type Kind } from './kinds.ts';

/** A choice of recorded answers, as numbers that are taken modulo what there is. */
export interface Choice {
  /** The answer, of any document and any time. */
  readonly answer: number;
  /** Members, or elements of a list, that come from other answers. */
  readonly mixed: readonly { readonly place: number; readonly from: number }[];
  /** Elements of a list that are left out. */
  readonly dropped: readonly number[];
  /** Whether the answer was one to the same request, at any time. */
  readonly isOwn: boolean;
  /** Whether the id is the one that was asked for. */
  readonly isRenamed: boolean;
}
export type Choices = Readonly<Record<Kind, Choice>>;

const choice: fc.Arbitrary<Choice> = fc.record({
  answer: fc.nat(10_000),
  mixed: fc.array(fc.record({ place: fc.nat(20), from: fc.nat(10_000) }), { maxLength: 3 }),
  dropped: fc.array(fc.nat(20), { maxLength: 2 }),
  isOwn: fc.boolean(),
  isRenamed: fc.boolean(),
});

/** Generates an answer for each kind of request. */
export const choices = fc.record(
  Object.fromEntries(kinds.map((kind) => [kind, choice])),
) as unknown as fc.Arbitrary<Choices>;
