import { z } from 'zod';

/** The longest text of a duration, so that the cost of its CEL rule is bounded. */
const maxLength = 16;
const secondsOf = { h: 3_600, m: 60, s: 1 } as const;

/** A duration of at least `least`, in hours, minutes and seconds: `2160h` or `1h30m`. */
export function durationOfAtLeast(least: string) {
  return z
    .string()
    .max(maxLength)
    .regex(/^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$/)
    .meta({
      'x-kubernetes-validations': [
        {
          rule: `self != '' && duration(self) >= duration('${least}')`,
          message: `must be at least ${least}`,
        },
      ],
    });
}

/** Returns the milliseconds of a duration that a schema of `durationOfAtLeast` has accepted. */
export function parseDuration(text: string): number {
  const seconds = [...text.matchAll(/(\d+)([hms])/g)].map(
    ([, count, unit]) => Number(count) * secondsOf[unit as keyof typeof secondsOf],
  );
  return 1_000 * seconds.reduce((sum, one) => sum + one, 0);
}
