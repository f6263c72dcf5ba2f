import type { JWTPayload } from 'jose';
import { z } from 'zod';
import { isSafeString } from '../../http/bodies/safe-text.ts';

/** A path of nested claim names, joined by dots; a dot within a name is written `\.`. */
export const ClaimPath = z
  .string()
  .transform((path) => path.split(/(?<!\\)\./).map((name) => name.replaceAll('\\.', '.')))
  .refine((names) => names.every((name) => name !== ''), 'has an empty name');

export type ClaimPath = z.output<typeof ClaimPath>;

const Text = z.string().min(1).max(255).refine(isSafeString);
const Names = z
  .union([
    z.array(z.unknown()).transform((items) => items.filter((item) => typeof item === 'string')),
    z.string().transform((items) => items.split(' ')),
  ])
  .catch([]);

/** Returns a text claim of 1 to 255 characters that Postgres can store; undefined otherwise. */
export function textAt(payload: JWTPayload, path: ClaimPath): string | undefined {
  return Text.safeParse(claimAt(payload, path)).data;
}

/** Returns the time of a claim in seconds since 1970, such as `auth_time`; undefined otherwise. */
export function timeAt(payload: JWTPayload, path: ClaimPath): Date | undefined {
  const time = new Date(Number(z.number().safeParse(claimAt(payload, path)).data) * 1000);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/**
 * Returns the names in a claim, which is an array of names, or a string of names separated by
 * spaces such as `scope`.
 */
export function namesAt(payload: JWTPayload, path: ClaimPath): readonly string[] {
  return Names.parse(claimAt(payload, path));
}

/**
 * Returns the claim at a path. Reads only own properties, since inherited properties such as
 * `constructor` are not claims.
 */
function claimAt(payload: JWTPayload, path: ClaimPath): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? Reflect.get(value, name)
        : undefined,
    payload,
  );
}
