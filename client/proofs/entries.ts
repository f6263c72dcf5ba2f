import { z } from 'zod';
import { parseAnswer, type Http } from '../http/http.ts';
import { readBodies } from '../http/pages.ts';

interface EntryFilter {
  readonly resourceType: string;
  readonly action?: string;
}

/**
 * Yields the items of the vault's list of audit entries, newest first, without those of months that
 * are archived outside of the vault.
 */
export async function* readEntries<T>(
  http: Http,
  item: z.ZodType<T>,
  filter: EntryFilter,
): AsyncGenerator<T, void, void> {
  const page = z.object({ entries: z.array(item) });
  const request = { method: 'GET', path: '/v1/audit/entries', query: { ...filter } } as const;
  for await (const body of readBodies(http, request)) yield* parseAnswer(page, body).entries;
}
