import { describeDocument, isNewer, isRolledBack } from './document-order.ts';
import { applyTo, changesIn, createLayer, type Layer } from './layer.ts';
import {
  changesOf,
  type DocumentState,
  type Exchanged,
  type KnownObject,
  kinds,
  type RememberedChanges,
  type RememberedDocument,
  type RememberedPerson,
  type RememberedShare,
  type StatementIds,
  type StoredChanges,
  type Untold,
} from './remembered.ts';
import { RolledBackError } from './rolled-back-error.ts';

/** A value that counts, and the device that told it; undefined if this device saw it. */
interface Known<T> {
  readonly value: T;
  readonly toldBy?: string;
}

export type Recollection = ReturnType<typeof createRecollection>;

/** Creates what is remembered, as it is held while the memory is open. */
export function createRecollection() {
  let own = createLayer();
  /** The values that each other device told. */
  const told = new Map<string, Layer>();
  /** The moments at which the values of documents and objects came. */
  const moments = new Map<string, number>();
  let untold = createUntold();
  let exchanged: Exchanged | undefined;
  let forgottenList: string | undefined;
  let moment = 0;

  function apply({ told: others = {}, ...changes }: Partial<StoredChanges>): void {
    moment += 1;
    exchanged = changes.exchanged ?? exchanged;
    forgottenList = changes.forgottenList ?? forgottenList;
    const seen = changesOf(changes);
    applyTo(own, seen);
    for (const kind of kinds) {
      for (const name of Object.keys(seen[kind])) untold[kind].add(name);
    }
    if (changes.untold !== undefined) untold = createUntold(changes.untold);
    for (const [writer, values] of Object.entries(others)) {
      const layer = told.get(writer) ?? createLayer();
      told.set(writer, layer);
      applyTo(layer, values);
    }
    for (const { documents, objects } of [seen, ...Object.values(others)]) {
      for (const id of Object.keys({ ...documents, ...objects })) moments.set(id, moment);
    }
  }

  /** Returns the devices that were revoked, by what this one and those that count told. */
  function findRevoked(): Set<string> {
    const revoked = new Set(revokedIn(own.devices));
    for (const [writer, { devices }] of told) {
      if (!revoked.has(writer)) for (const id of revokedIn(devices)) revoked.add(id);
    }
    return revoked;
  }

  /** Returns the layers of the other devices, without those that were revoked. */
  function counting(): [string, Layer][] {
    const revoked = findRevoked();
    return [...told].filter(([writer]) => !revoked.has(writer));
  }

  function document(id: string): Known<RememberedDocument> | undefined {
    const seen = own.documents.get(id);
    let known: Known<RememberedDocument> | undefined =
      seen === undefined ? undefined : { value: seen };
    for (const [toldBy, { documents }] of counting()) {
      const value = documents.get(id);
      if (value !== undefined && isNewer(value, known?.value)) known = { value, toldBy };
    }
    return known;
  }

  /** Returns what this device saw, or else what another one told. */
  function first<T>(find: (layer: Layer) => T | undefined): Known<T> | undefined {
    const seen = find(own);
    if (seen !== undefined) return { value: seen };
    for (const [toldBy, layer] of counting()) {
      const value = find(layer);
      if (value !== undefined) return { value, toldBy };
    }
    return undefined;
  }

  return {
    apply,
    document,
    exchanged: () => exchanged,
    forgottenList: () => forgottenList,
    now: () => moment,

    /**
     * Throws RolledBackError if a state of a document that the vault showed contradicts what was
     * remembered at an earlier moment.
     */
    compareDocument(id: string, shown: DocumentState, since: number): void {
      const found = document(id);
      if (found === undefined || (moments.get(id) ?? 0) > since) return;
      if (!isRolledBack(shown, found.value)) return;
      throw new RolledBackError({
        subject: 'document',
        id,
        remembered: describeDocument(found.value),
        shown: describeDocument(shown),
        state: shown,
        ...(found.toldBy !== undefined && { toldBy: found.toldBy }),
      });
    },

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

    /** Returns whether this very state is what counts, or the user believes any. */
    isKnown(id: string, { metadataHash }: DocumentState): boolean {
      const value = document(id)?.value ?? {};
      return (
        'forgotten' in value || ('metadataHash' in value && value.metadataHash === metadataHash)
      );
    },

    /** Returns a value for a state that was seen, or undefined if it is known or older. */
    news(id: string, seen: DocumentState | { readonly removed: true }) {
      const { accepted, insteadOf } = document(id)?.value ?? {};
      const value: RememberedDocument = {
        ...seen,
        ...(accepted !== undefined && { accepted }),
        ...(insteadOf !== undefined && { insteadOf }),
      };
      return isNewer(value, own.documents.get(id)) ? value : undefined;
    },

    /** Returns whether a device was revoked, also by what was told just now. */
    isRevoked: (writer: string, now: Readonly<Record<string, RememberedChanges>>): boolean =>
      findRevoked().has(writer) ||
      Object.values(now).some(({ devices }) => devices[writer] === 'revoked'),

    /** Returns the ids of the devices that the user registered, also of those revoked since. */
    devices: (): readonly string[] => {
      const known = new Set(own.devices.keys());
      for (const [, { devices }] of counting()) for (const id of devices.keys()) known.add(id);
      return [...known];
    },

    /** Returns the statements in an object that the writer of a list told; {} for none. */
    listedObject: (writer: string, objectId: string): StatementIds =>
      told.get(writer)?.objects.get(objectId)?.statements ?? {},

    /**
     * Returns the states of an object that count: what this device and others had seen at a moment,
     * after the last time that the user accepted an older one.
     */
    objectStates(id: string, until: number): readonly KnownObject[] {
      if ((moments.get(id) ?? 0) > until) return [];
      const states = counting().flatMap(([toldBy, { objects }]): KnownObject[] => {
        const value = objects.get(id);
        return value === undefined ? [] : [{ ...value, toldBy }];
      });
      const seen = own.objects.get(id);
      if (seen !== undefined) states.push(seen);
      const last = Math.max(0, ...states.map(({ accepted = 0 }) => accepted));
      return states.filter(({ accepted = 0 }) => accepted === last);
    },

    hasShare: (id: string): boolean => own.shares.has(id),

    /** Returns the person whose keys were confirmed last, here or on another device. */
    person(name: string): RememberedPerson | undefined {
      let known = own.people.get(name);
      for (const [, { people }] of counting()) {
        const value = people.get(name);
        const [newest = ''] = known?.fingerprints ?? [];
        if (known === undefined || value?.fingerprints.slice(1).includes(newest) === true) {
          known = value ?? known;
        }
      }
      return known;
    },

    vaultKeys: (): readonly string[] | undefined =>
      first((layer) => layer.vaultKeys.get('first'))?.value,

    /** Returns the values that were not told to the other devices yet. */
    untold(): RememberedChanges {
      const all = changesIn(own);
      const chosen = kinds.map((kind) => [
        kind,
        Object.fromEntries(Object.entries(all[kind]).filter(([name]) => untold[kind].has(name))),
      ]);
      return changesOf(Object.fromEntries(chosen));
    },

    /**
     * Returns everything that this device saw, also what it told before it lost its store, for a
     * device that begins to tell anew.
     */
    seen(writer: string): RememberedChanges {
      const all = createLayer();
      for (const layer of [told.get(writer) ?? createLayer(), own]) applyTo(all, changesIn(layer));
      return changesIn(all);
    },

    /** Returns the names of the values that are still untold once these were told. */
    untoldAfter(values: RememberedChanges): Untold {
      const left = kinds.map((kind) => [
        kind,
        [...untold[kind]].filter((name) => values[kind][name] !== own[kind].get(name)),
      ]);
      return Object.fromEntries(left);
    },

    /** Returns the values that another device told, without states that this device knows. */
    worthKeeping(values: RememberedChanges): RememberedChanges {
      const documents = Object.entries(values.documents).filter(([id, value]) =>
        isNewer(value, own.documents.get(id)),
      );
      return { ...values, documents: Object.fromEntries(documents) };
    },

    /** Returns everything, for the record that replaces all others. */
    summary: (): StoredChanges => ({
      ...changesIn(own),
      told: Object.fromEntries(Array.from(told, ([writer, layer]) => [writer, changesIn(layer)])),
      untold: Object.fromEntries(Object.entries(untold).map(([kind, names]) => [kind, [...names]])),
      ...(exchanged !== undefined && { exchanged }),
      ...(forgottenList !== undefined && { forgottenList }),
    }),

    forgetAll(): void {
      own = createLayer();
      told.clear();
      moments.clear();
      untold = createUntold();
      exchanged = undefined;
    },
  };
}

function createUntold(given: Untold = {}) {
  return {
    documents: new Set(given.documents),
    objects: new Set(given.objects),
    people: new Set(given.people),
    shares: new Set(given.shares),
    devices: new Set(given.devices),
    vaultKeys: new Set(given.vaultKeys),
  };
}

function revokedIn(devices: Layer['devices']): string[] {
  return [...devices].flatMap(([id, fate]) => (fate === 'revoked' ? [id] : []));
}

function describeShare({ documentId, version }: RememberedShare): string {
  return `document ${documentId}, ${version === null ? 'all versions' : `version ${version}`}`;
}
