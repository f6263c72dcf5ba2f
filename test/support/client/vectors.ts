import { readFile } from 'node:fs/promises';
import type { z } from 'zod';

/** Reads and parses a file of test/vectors. */
export async function readVectors<T>(name: string, schema: z.ZodType<T>): Promise<T> {
  const file = new URL(`../../vectors/${name}`, import.meta.url);
  return schema.parse(JSON.parse(await readFile(file, 'utf8')));
}
