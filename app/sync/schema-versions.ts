import { z } from 'zod';

const form = /^([0-9]{1,9})-([0-9]{1,9})$/;

/** Of `min-max`: the versions of clients' data formats that are taken, both included. */
export const SchemaVersions = z
  .string()
  .regex(form, { error: 'must be two integers as in 1-3', abort: true })
  .transform((text) => {
    const [, min, max] = form.exec(text) ?? [];
    return { min: Number(min), max: Number(max) };
  })
  .refine(({ min, max }) => min <= max, 'must not end before it begins');

export type SchemaVersions = z.output<typeof SchemaVersions>;
