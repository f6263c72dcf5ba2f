import type { Memory } from './memory.ts';
import type { Recollection } from './values/recollection.ts';
import type { RememberedChanges, RememberedPerson } from './values/remembered.ts';

interface PeopleOptions {
  readonly recollection: Recollection;
  /** Resolves once the memory is open and the reports of the other devices were read. */
  readonly ready: () => Promise<void>;
  readonly keep: (changes: Partial<RememberedChanges>) => Promise<void>;
}

/** Creates the memory of people and of the shares that they gave or received. */
export function createPeople({
  recollection,
  ready,
  keep,
}: PeopleOptions): Pick<
  Memory,
  'person' | 'whose' | 'confirmedPerson' | 'receivedShare' | 'givenShare' | 'givenTo' | 'gaveShare'
> {
  return {
    async person(name) {
      await ready();
      return recollection.person(name);
    },

    async whose(fingerprint) {
      await ready();
      return recollection.whose(fingerprint);
    },

    async confirmedPerson({ ownerId, email }, fingerprint) {
      await ready();
      const people: Record<string, RememberedPerson> = {};
      for (const name of [ownerId, email]) {
        if (name === undefined) continue;
        const person = confirmed(recollection.people.get(name), { fingerprint, email });
        if (person !== undefined) people[name] = person;
      }
      if (Object.keys(people).length > 0) await keep({ people });
    },

    async receivedShare(id) {
      await ready();
      return recollection.share(id);
    },

    async givenShare(id) {
      await ready();
      const given = recollection.given(id);
      return given === undefined || 'ended' in given ? undefined : given;
    },

    async givenTo(recipientId) {
      await ready();
      return recollection.givenTo(recipientId);
    },

    async gaveShare(id, share) {
      await ready();
      await keep({ given: { [id]: share } });
    },
  };
}

/** Returns a person with a confirmed fingerprint; undefined if all of it is known already. */
function confirmed(
  known: RememberedPerson | undefined,
  { fingerprint, email }: { readonly fingerprint: string; readonly email: string | undefined },
): RememberedPerson | undefined {
  const { fingerprints: earlier = [], email: earlierEmail } = known ?? {};
  const isKnown = earlier[0] === fingerprint && (email ?? earlierEmail) === earlierEmail;
  if (isKnown) return undefined;
  const fingerprints = [fingerprint, ...earlier.filter((other) => other !== fingerprint)];
  const present = email ?? earlierEmail;
  return { fingerprints, ...(present !== undefined && { email: present }) };
}
