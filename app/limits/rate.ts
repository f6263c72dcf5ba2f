import { z } from 'zod';

const pattern = /^([1-9]\d{0,6})\/([1-9]\d{0,6})([smhd])$/;
const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
/** The longest window that timers, and so the counts in memory, support. */
const maxSeconds = 24 * 86_400;

/**
 * Parses a rate: `5/1h` is five uses per hour, `10/15m` ten per 15 minutes; units are s, m, h and
 * d. `off` disables the limit and is parsed to undefined.
 */
export const Rate = z.string().transform((text, context) => {
  if (text === 'off') return undefined;
  const [, count, length, unit = ''] = pattern.exec(text) ?? [];
  const seconds = Number(length) * (unitSeconds[unit] ?? Number.NaN);
  if (seconds <= maxSeconds) return { count: Number(count), seconds };
  context.addIssue({
    code: 'custom',
    message: 'must be off, or a rate such as 5/1h of at most 24 days',
  });
  return z.NEVER;
});

/** A rate of at most `count` uses in a window of `seconds`. */
export type Rate = Readonly<NonNullable<z.output<typeof Rate>>>;
