import test from 'ava';
import { hasRepeatedNames } from '../../../app/http/bodies/repeated-names.ts';
import { assertSafeText } from '../../../app/http/bodies/safe-text.ts';
import { assertStorable } from '../../../app/sync/merge/limits.ts';

const mebibyte = 2 ** 20;

/** Arrays whose JSON text is nearly 1 MiB. */
const data: Record<string, string> = {
  numbers: `[${'1,'.repeat(mebibyte / 2 - 100)}1]`,
  'empty strings': `[${'"",'.repeat(mebibyte / 3 - 100)}1]`,
  'small arrays': `[${'[1],'.repeat(mebibyte / 4 - 100)}1]`,
};

/** Returns the fastest of several runs, so that other load on the machine counts little. */
function milliseconds(work: () => unknown): number {
  const times = Array.from({ length: 7 }, () => {
    const begin = performance.now();
    work();
    return performance.now() - begin;
  });
  return Math.min(...times);
}

for (const [name, member] of Object.entries(data)) {
  test(`checking a body of ${name} takes less than eight times as long as parsing it`, (t) => {
    const text = `{"data":${member}}`;
    const value = JSON.parse(text) as Record<string, unknown>;
    const parsing = milliseconds(() => JSON.parse(text));
    const checking = milliseconds(() => {
      assertSafeText(value);
      hasRepeatedNames(text, value);
      assertStorable(value);
    });
    t.true(checking < 8 * parsing, `${checking.toFixed(0)} ms beside ${parsing.toFixed(0)} ms`);
  });
}
