import { z } from 'zod';
import { parseAnswer, type Http } from '../http/http.ts';
import { readBodies } from '../http/pages.ts';

interface EntryFilter {
  readonly resourceType: string;
  readonly action?: string;
}

const Month = z.string().regex(/^[0-9]{4}-[0-9]{2}$/);

/**
 * Yields the items of the vault's list of audit entries, newest first, without those of months that
 * are archived outside of the vault. `onArchived` gets these months, as `2027-01`, of each page.
 */
export async function* readEntries<T>(
  http: Http,
  item: z.ZodType<T>,
  filter: EntryFilter,
  onArchived: (months: readonly string[]) => void = () => undefined,
): AsyncGenerator<T, void, void> {
  const Page = z.object({ entries: z.array(item), archivedMonths: z.array(Month) });
  const request = { method: 'GET', path: '/v1/audit/entries', query: { ...filter } } as const;
  for await (const body of readBodies(http, request)) {
    const { entries, archivedMonths } = parseAnswer(Page, body);
    onArchived(archivedMonths);
    yield* entries;
  }
}
