import test from 'ava';
import * as fc from 'fast-check';
import {
  canAddUp,
  sizesThatFit,
  type DeclaredFile,
  type SettledParts,
} from '../../../app/uploads/parts/part-sizes.ts';
import {
  maxFileSize,
  maxPartSize,
  minPartSize,
  partCounts,
} from '../../../app/uploads/sessions/limits.ts';

type Sizes = ReadonlyMap<number, number>;

function settle({ totalParts }: DeclaredFile, sizes: Sizes): SettledParts {
  return {
    count: sizes.size,
    bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
    hasLast: sizes.has(totalParts),
  };
}

/** Declared files for which POST /v1/uploads opens a session, most of them with few parts. */
const files: fc.Arbitrary<DeclaredFile> = fc
  .oneof(fc.integer({ min: 1, max: maxFileSize }), fc.integer({ min: 1, max: 4 * maxPartSize }))
  .chain((fileSize) => {
    const { fewest, most } = partCounts(fileSize);
    const totalParts = fc.oneof(
      fc.integer({ min: fewest, max: Math.min(most, fewest + 5) }),
      fc.integer({ min: fewest, max: most }),
    );
    return totalParts.map((count) => ({ fileSize, totalParts: count }));
  });

/** A size near a bound, in bytes of distance from it, or anywhere between the bounds (0 to 1). */
const choices = fc.oneof(
  fc.record({ from: fc.constantFrom('smallest', 'largest'), by: fc.integer({ min: -2, max: 2 }) }),
  fc.double({ min: 0, max: 1, noNaN: true }),
);
const puts = fc.array(fc.record({ part: fc.nat(), choice: choices }), { maxLength: 30 });

function pick(
  { smallest, largest }: { readonly smallest: number; readonly largest: number },
  choice: { readonly from: string; readonly by: number } | number,
): number {
  if (typeof choice === 'number') return smallest + Math.floor(choice * (largest - smallest));
  return (choice.from === 'smallest' ? smallest : largest) + choice.by;
}

test('parts that were all accepted can always be completed', (t) => {
  const holds = fc.property(files, puts, fc.double({ min: 0, max: 1, noNaN: true }), (...run) => {
    const [file, attempts, last] = run;
    const sizes = new Map<number, number>();
    for (const { part, choice } of attempts) {
      const number = (part % file.totalParts) + 1;
      if (sizes.has(number)) continue;
      const range = sizesThatFit(file, number, settle(file, sizes));
      const size = pick(range, choice);
      if (size >= range.smallest && size <= range.largest) sizes.set(number, size);
    }
    for (let number = 1; number <= file.totalParts; number += 1) {
      if (sizes.has(number)) continue;
      const range = sizesThatFit(file, number, settle(file, sizes));
      if (range.smallest > range.largest) return false;
      sizes.set(number, pick(range, last));
    }
    return settle(file, sizes).bytes === file.fileSize;
  });
  t.notThrows(() => fc.assert(holds));
});

test('a size is refused only if no sizes of the missing parts would make up the file', (t) => {
  const holds = fc.property(files, puts, fc.nat(), choices, (file, attempts, part, choice) => {
    const number = (part % file.totalParts) + 1;
    const sizes = new Map<number, number>();
    for (const attempt of attempts) {
      const other = (attempt.part % file.totalParts) + 1;
      if (other === number || sizes.has(other)) continue;
      // Any size, so that some files can no longer be made up.
      const bounds = {
        smallest: other === file.totalParts ? 1 : minPartSize,
        largest: maxPartSize,
      };
      sizes.set(other, Math.max(bounds.smallest, pick(bounds, attempt.choice)));
    }
    const { smallest, largest } = sizesThatFit(file, number, settle(file, sizes));
    const own = { smallest: number === file.totalParts ? 1 : minPartSize, largest: maxPartSize };
    const size = pick(own, choice);
    const isAccepted = smallest <= size && size <= largest;
    const isPossible =
      own.smallest <= size &&
      size <= own.largest &&
      canAddUp(file, settle(file, new Map([...sizes, [number, size]])));
    return isAccepted === isPossible;
  });
  t.notThrows(() => fc.assert(holds));
});
