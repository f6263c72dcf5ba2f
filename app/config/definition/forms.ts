import { z } from 'zod';
import { Rate } from '../../limits/rate.ts';

/** Accepts `true` and `false`. */
export const Flag = z.enum(['true', 'false']).transform((value) => value === 'true');

/** Splits at commas; spaces around the items and empty items are dropped. */
export const List = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

export const Count = z.coerce.number().int().positive();
export const Port = z.coerce.number().int().min(0).max(65_535);
/** A text that is not empty, such as a path. */
export const Text = z.string().min(1);
/** An http or https URL, without the slashes at its end. */
export const Url = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''));

/** Accepts a rate such as 5/1h, or `off`, which gives undefined. */
export function limit(rate: string) {
  return z.string().default(rate).pipe(Rate);
}
