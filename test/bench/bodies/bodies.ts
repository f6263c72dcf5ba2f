import { hasRepeatedNames } from '../../../app/http/bodies/repeated-names.ts';
import { assertSafeText } from '../../../app/http/bodies/safe-text.ts';
import { assertStorable } from '../../../app/sync/merge/limits.ts';
import { median, round, type Bench } from '../harness/bench.ts';

const mebibyte = 2 ** 20;
const rounds = 15;
/** Checking a body may take this many times as long as parsing it. */
const limit = 8;

/** Bodies of nearly 1 MiB whose checks cost the most. */
const members: Readonly<Record<string, string>> = {
  numbers: `[${'1,'.repeat(mebibyte / 2 - 100)}1]`,
  'empty strings': `[${'"",'.repeat(mebibyte / 3 - 100)}1]`,
  'small arrays': `[${'[1],'.repeat(mebibyte / 4 - 100)}1]`,
};

/**
 * Measures MB/s at which all checks of a JSON body run, against an eighth of the speed at which
 * JSON.parse reads the same body. The figures are those of the body with the lowest ratio.
 */
export const benchBodies: Bench = async (progress) => {
  const figures = Object.entries(members).map(([name, member]) => {
    const text = `{"data":${member}}`;
    const value = JSON.parse(text) as Record<string, unknown>;
    const checking = milliseconds(() => {
      assertSafeText(value);
      hasRepeatedNames(text, value);
      assertStorable(value);
    });
    const parsing = milliseconds(() => JSON.parse(text));
    const ours = round(text.length / 1_000 / checking, 1);
    const reference = round(text.length / 1_000 / parsing / limit, 1);
    progress(`${name}: checked at ${ours} MB/s, an eighth of the parser's speed is ${reference}`);
    return { ours, reference, unit: 'MB/s', ratio: round(ours / reference), rounds };
  });
  return figures.reduce((worst, one) => (one.ratio < worst.ratio ? one : worst));
};

function milliseconds(work: () => unknown): number {
  const times = Array.from({ length: rounds }, () => {
    const startedAt = performance.now();
    work();
    return performance.now() - startedAt;
  });
  return median(times);
}
