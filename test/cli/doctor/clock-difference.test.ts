import test from 'ava';
import { judgeClock, leastDifference } from '../../../app/cli/doctor/steps/clock-difference.ts';

const at = (ms: number) => new Date(1_700_000_000_000 + ms);

/** Returns the least difference if a request took from 0 to `tookMs`. */
const difference = (statedMs: number, resolutionMs: number, tookMs: number) =>
  leastDifference({ stated: at(statedMs), resolutionMs, sentAt: at(0), receivedAt: at(tookMs) });

test('a time within the request, or rounded down from within it, differs by nothing', (t) => {
  t.is(difference(50, 1, 100), 0);
  t.is(difference(0, 1, 100), 0);
  // 900 ms before the request, and rounded down to whole seconds.
  t.is(difference(-900, 1_000, 100), 0);
});

test('the difference is the least with which the times agree', (t) => {
  t.is(difference(5_100, 1, 100), 5_000);
  t.is(difference(-5_000, 1, 100), -4_999);
  t.is(difference(-5_000, 1_000, 100), -4_000);
});

test('a clock is judged by its limits, in both directions', (t) => {
  const limits = { warn: 2, fail: 60 };
  const grade = (seconds: number) =>
    judgeClock(
      'Postgres',
      { stated: at(seconds * 1_000), resolutionMs: 1, sentAt: at(0), receivedAt: at(0) },
      limits,
    );
  for (const sign of [1, -1]) {
    t.is(grade(sign * 1.9).grade, 'ok');
    t.like(grade(sign * 3), { grade: 'warn' });
    t.like(grade(sign * 61), { grade: 'fail' });
  }
  t.regex(grade(61).text, /differ by 61\.0 s: set both clocks by NTP/);
});
