import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import type { Opening, SegmentsOpening } from '../../../client/disclosure/opening.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { sealOriginal, type SealedOriginal } from './sealed-original.ts';

const segmentBytes = 2 ** 20;

/** All that somebody is given to verify an original. */
export interface Given {
  readonly proof: AuditProof;
  readonly opening: unknown;
  readonly bytes: Bytes;
}

/** A disclosure that verifies. */
interface Base extends Given {
  readonly opening: Opening;
  /** Indexes of the segments that are proven. */
  readonly proven: readonly number[];
  /** Another seal of the same bytes. */
  readonly other: { readonly proof: AuditProof; readonly opening: Opening };
}

/** A random choice for each of the decisions that a change takes. */
interface Choices {
  readonly one: number;
  readonly two: number;
}

type Change = (base: Base, choices: Choices) => Given;

/** Makes disclosures of files of one, three and five segments, whole and by segments. */
export async function createBases(): Promise<readonly Base[]> {
  const shapes = [
    { size: 1, indexes: [0] },
    { size: 2 * segmentBytes + 5, indexes: [0, 2] },
    { size: 4 * segmentBytes + 1, indexes: [1, 2, 4] },
  ];
  const bases: Base[] = [];
  for (const { size, indexes } of shapes) {
    // The slice of a Buffer would share its memory.
    const bytes = new Uint8Array(randomBytes(size));
    const [sealed, again] = [await sealOriginal(bytes), await sealOriginal(bytes)];
    const all = Array.from(sealed.leaves, (_, index) => index);
    for (const [disclose, proven] of [
      [async (seal: SealedOriginal) => seal.discloseAll(), all],
      [(seal: SealedOriginal) => seal.discloseSegments(indexes), indexes],
    ] as const) {
      const [{ proof, opening }, other] = [await disclose(sealed), await disclose(again)];
      bases.push({ proof, opening, bytes, proven, other });
    }
  }
  return bases;
}

/** Returns the offset of a byte that the opening proves. */
function provenOffset({ proven, bytes }: Base, { one, two }: Choices): number {
  const index = proven[one % proven.length] ?? 0;
  const length = Math.min(segmentBytes, bytes.length - index * segmentBytes);
  return index * segmentBytes + (two % length);
}

function flipBit(bytes: Bytes, offset: number, bit: number): Bytes {
  const changed = bytes.slice();
  changed[offset] = (changed[offset] ?? 0) ^ (1 << (bit % 8));
  return changed;
}

/** Exchanges the segment at `from`, which may be a short last one, with as many bytes at `to`. */
function exchangeSegments(bytes: Bytes, from: number, to: number): Bytes {
  const length = Math.min(segmentBytes, bytes.length - from);
  const changed = bytes.slice();
  changed.set(bytes.subarray(from, from + length), to);
  changed.set(bytes.subarray(to, to + length), from);
  return changed;
}

/** Replaces one character by another one of the same kind. */
function changeCharacter(text: string, { one, two }: Choices): string {
  const digits = '0123456789abcdef'.split('');
  const at = one % text.length;
  const rest = digits.filter((digit) => digit !== text[at]);
  return text.slice(0, at) + (rest[two % rest.length] ?? '') + text.slice(at + 1);
}

function exchange<T>(items: readonly T[], one: number, two: number): T[] {
  const changed = [...items];
  const [from, to] = [one % items.length, two % items.length];
  const [first, second] = [items[from], items[to]];
  if (first === undefined || second === undefined) return changed;
  return changed.with(from, second).with(to, first);
}

/** Changes the segments of an opening; one of the whole file gets another root in their place. */
function changeSegments(
  { opening }: Base,
  choices: Choices,
  change: (segments: SegmentsOpening['segments']) => SegmentsOpening['segments'],
): unknown {
  if ('segments' in opening) {
    const segments = change(opening.segments);
    if (JSON.stringify(segments) !== JSON.stringify(opening.segments)) {
      return { ...opening, segments };
    }
  }
  return { ...opening, root: changeCharacter(opening.root, choices) };
}

const changes: Readonly<Record<string, Change>> = {
  'a bit of the file': (base, choices) => ({
    ...base,
    bytes: flipBit(base.bytes, provenOffset(base, choices), choices.one),
  }),
  'the end of the file cut off': (base, { one }) => ({
    ...base,
    bytes: base.bytes.slice(0, base.bytes.length - 1 - (one % base.bytes.length)),
  }),
  'bytes after the end': (base, { one }) => ({
    ...base,
    bytes: new Uint8Array(Buffer.concat([base.bytes, Buffer.alloc(1 + (one % 1000))])),
  }),
  'segments of the file exchanged': (base, choices) => {
    const from = provenOffset(base, { ...choices, two: 0 });
    const to = from === 0 ? segmentBytes : 0;
    const isLarge = base.bytes.length >= to + segmentBytes;
    const bytes = isLarge ? exchangeSegments(base.bytes, from, to) : base.bytes;
    // A last segment of one byte may equal the byte that it is exchanged with.
    const isChanged = Buffer.compare(bytes, base.bytes) !== 0;
    return { ...base, bytes: isChanged ? bytes : flipBit(base.bytes, from, choices.two) };
  },
  'a digit of the opening': (base, choices) => {
    const text = JSON.stringify(base.opening);
    const digits = [...text.matchAll(/\b[0-9a-f]{64}\b/g)];
    const { index: at } = digits[choices.two % digits.length] ?? { index: 0 };
    const value = changeCharacter(text.slice(at, at + 64), choices);
    const opening: unknown = JSON.parse(text.slice(0, at) + value + text.slice(at + 64));
    return { ...base, opening };
  },
  'the size in the opening': (base, { one }) => ({
    ...base,
    opening: { ...base.opening, size: base.opening.size + 1 + one },
  }),
  'a member less': (base, { one }) => {
    const names = Object.keys(base.opening);
    const left = names[one % names.length];
    const kept = Object.entries(base.opening).filter(([name]) => name !== left);
    return { ...base, opening: Object.fromEntries(kept) };
  },
  'a member more': (base, { one }) => ({
    ...base,
    opening: { ...base.opening, [`m${one}`]: base.opening.root },
  }),
  'an index': (base, choices) => ({
    ...base,
    opening: changeSegments(base, choices, (segments) => {
      const at = choices.one % segments.length;
      return segments.map((each, place) =>
        place === at ? { ...each, index: each.index + 1 + (choices.two % 7) } : each,
      );
    }),
  }),
  'the order of segments': (base, choices) => ({
    ...base,
    opening: changeSegments(base, choices, (all) => exchange(all, choices.one, choices.two)),
  }),
  'a segment twice': (base, choices) => ({
    ...base,
    opening: changeSegments(base, choices, (all) => all.flatMap((each) => [each, each])),
  }),
  'the order of a path': (base, choices) => ({
    ...base,
    opening: changeSegments(base, choices, (all) =>
      all.map((each) => ({ ...each, path: exchange(each.path, 0, choices.one) })),
    ),
  }),
  'a hash of a path less': (base, choices) => ({
    ...base,
    opening: changeSegments(base, choices, (all) =>
      all.map((each) => ({ ...each, path: each.path.toSpliced(choices.one % 3, 1) })),
    ),
  }),
  'a hash of a path more': (base, choices) => ({
    ...base,
    opening: changeSegments(base, choices, (all) =>
      all.map((each) => ({ ...each, path: [...each.path, base.opening.root] })),
    ),
  }),
  'salts exchanged': (base, choices) => ({
    ...base,
    opening: changeSegments(base, choices, (all) => {
      const salts = exchange(
        all.map(({ salt }) => salt),
        choices.one,
        choices.two,
      );
      return all.map((each, place) => ({ ...each, salt: salts[place] ?? '' }));
    }),
  }),
  'the opening of another seal': (base) => ({ ...base, opening: base.other.opening }),
  'another seal': (base) => ({ ...base, proof: base.other.proof }),
  'a character of the entry': (base, { one }) => {
    const { entryCanonical } = base.proof;
    const at = one % entryCanonical.length;
    const character = entryCanonical[at] === '0' ? '1' : '0';
    const changed = entryCanonical.slice(0, at) + character + entryCanonical.slice(at + 1);
    return { ...base, proof: { ...base.proof, entryCanonical: changed } };
  },
  'a bit of the signature': (base, { one, two }) => {
    const signature = new Uint8Array(Buffer.from(base.proof.hsmSignature, 'base64'));
    const changed = flipBit(signature, one % signature.length, two);
    const hsmSignature = Buffer.from(changed).toString('base64');
    return { ...base, proof: { ...base.proof, hsmSignature } };
  },
};

/** A change of one disclosure, by the name of the change and the index of the disclosure. */
export interface ChosenChange extends Choices {
  readonly name: string;
  readonly base: number;
}

/** Generates one change each, of a random kind. */
export const chosenChanges: fc.Arbitrary<ChosenChange> = fc.record({
  name: fc.constantFrom(...Object.keys(changes)),
  base: fc.nat(),
  one: fc.nat(),
  two: fc.nat(),
});

/** Returns one of the disclosures, changed so that it must be refused. */
export function applyChange(
  bases: readonly Base[],
  { name, base, ...choices }: ChosenChange,
): Given {
  const chosen = bases[base % bases.length];
  const change = changes[name];
  if (chosen === undefined || change === undefined) throw new RangeError('no such change');
  const { proof, opening, bytes } = change(chosen, choices);
  return { proof, opening, bytes };
}
