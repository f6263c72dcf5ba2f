import { nobody } from '../../audit-trail/event.ts';
import type { InternalCaller } from '../../http/requests/caller.ts';
import type { Tallies } from '../tallies/tallies.ts';

/**
 * Returns the function that counts a request with an internal API key durably. The requests of one
 * key on one route within a minute become one audit entry.
 */
export function createInternalUseCount({ tallies }: { readonly tallies: Pick<Tallies, 'add'> }) {
  return ({ internalKey }: InternalCaller, route: string): Promise<void> =>
    tallies.add({
      action: 'internal_key.used',
      actor: { type: 'system', id: internalKey },
      owner: nobody,
      resource: { type: 'internal_key', id: internalKey },
      data: { route },
    });
}
