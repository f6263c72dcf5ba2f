import type { Layers } from './layers.ts';
import type { RememberedGift, RememberedPerson, RememberedShare } from './remembered.ts';
import { RolledBackError } from './rolled-back-error.ts';

/** The person who has an identity, or had it before their present one. */
export interface PersonOfKeys {
  readonly email: string;
  /** The fingerprint of the present identity. */
  readonly present: string;
}

/** Creates the view of the people whose keys the user confirmed, and of shares. */
export function createKnownPeople({ own, counting, first }: Layers) {
  /** Returns what was confirmed under a name, on the device where it was confirmed last. */
  function findPerson(name: string): RememberedPerson | undefined {
    let known = own.people.get(name);
    for (const [, { people }] of counting()) {
      const value = people.get(name);
      const [newest = ''] = known?.fingerprints ?? [];
      if (known === undefined || value?.fingerprints.slice(1).includes(newest) === true) {
        known = value ?? known;
      }
    }
    return known;
  }

  function peopleByEmail(): Set<string> {
    const all = [own, ...counting().map(([, layer]) => layer)];
    const emails = all.flatMap(({ people }) => Array.from(people.values(), ({ email }) => email));
    return new Set(emails.filter((email) => email !== undefined));
  }

  return {
    /** Throws RolledBackError if a share stands for something else than was remembered. */
    compareShare(id: string, shown: RememberedShare): void {
      const found = first((layer) => layer.shares.get(id));
      const [remembered, now] = [describeShare(found?.value ?? shown), describeShare(shown)];
      if (remembered === now) return;
      const { toldBy } = found ?? {};
      throw new RolledBackError({
        subject: 'share',
        id,
        remembered,
        shown: now,
        ...(toldBy !== undefined && { toldBy }),
      });
    },

    /** Returns what a share that the user received stands for. */
    share: (id: string): RememberedShare | undefined =>
      first((layer) => layer.shares.get(id))?.value,

    hasShare: (id: string): boolean => own.shares.has(id),

    people: { get: findPerson },

    /** Returns the person whose keys were confirmed last, here or on another device. */
    person(name: string): RememberedPerson | undefined {
      const person = findPerson(name);
      const { email = name } = person ?? {};
      return email === name ? person : (findPerson(email) ?? person);
    },

    /** Returns the person who has or had an identity, by its fingerprint. */
    whose(fingerprint: string): PersonOfKeys | undefined {
      for (const email of peopleByEmail()) {
        const { fingerprints = [] } = findPerson(email) ?? {};
        const [present] = fingerprints;
        if (present !== undefined && fingerprints.includes(fingerprint)) return { email, present };
      }
      return undefined;
    },

    /** Returns a share that the user gave; one that was ended on any device counts as ended. */
    given(id: string): RememberedGift | undefined {
      const all = [own, ...counting().map(([, layer]) => layer)].map(({ given }) => given.get(id));
      return all.find((gift) => gift !== undefined && 'ended' in gift) ?? all.find(Boolean);
    },

    /** Returns the e-mail address to which something was shared under a recipient's id. */
    givenTo(recipientId: string): string | undefined {
      const gift = first(({ given }) =>
        [...given.values()].find((each) => 'email' in each && each.recipientId === recipientId),
      );
      return gift !== undefined && 'email' in gift.value ? gift.value.email : undefined;
    },
  };
}

function describeShare({ documentId, version, signer, keyHash }: RememberedShare): string {
  const shared = version === null ? 'all versions' : `version ${version}`;
  const signed = signer === null ? 'signed by nobody' : `signed by ${signer}`;
  return `document ${documentId}, ${shared}, ${signed}, key ${keyHash.slice(0, 16)}`;
}
