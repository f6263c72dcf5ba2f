import type { AccountNames } from '../../identity/account-names.ts';
import { describeDocument, isNewer, isRolledBack } from './document-order.ts';
import { createHistory } from './history.ts';
import { applyTo, changesIn, createLayer } from './layer.ts';
import { createKnownPeople } from './known-people.ts';
import { createLayers, type Known } from './layers.ts';
import {
  changesOf,
  type DocumentState,
  type Exchanged,
  type Kind,
  kinds,
  type KnownObject,
  parseName,
  type RememberedChanges,
  type RememberedDocument,
  type StatementIds,
  type StoredChanges,
  type Untold,
} from './remembered.ts';
import { RolledBackError } from './rolled-back-error.ts';

export type Recollection = ReturnType<typeof createRecollection>;

/** Creates what is remembered, as it is held while the memory is open. */
export function createRecollection() {
  const layers = createLayers();
  const { own, told, counting, first } = layers;
  /** Keeps what was known of documents and objects before it was replaced. */
  const history = createHistory<{
    readonly document: Known<RememberedDocument> | undefined;
    readonly states: readonly KnownObject[];
  }>();
  let untold = createUntold();
  let exchanged: Exchanged | undefined;
  let forgottenList: string | undefined;
  let moment = 0;

  /** Keeps what is known of documents and objects that change, for the looks that are open. */
  function keepReplaced(changed: readonly RememberedChanges[]): void {
    if (!history.isOpen()) return;
    const names = changed.flatMap(({ documents, objects }) =>
      Object.keys({ ...documents, ...objects }),
    );
    for (const name of new Set(names)) {
      const value = { document: document(name), states: statesOf(name) };
      history.keep(name, { until: moment, value });
    }
  }

  function apply({ told: others = {}, ...changes }: Partial<StoredChanges>): void {
    exchanged = changes.exchanged ?? exchanged;
    forgottenList = changes.forgottenList ?? forgottenList;
    const seen = changesOf(changes);
    keepReplaced([seen, ...Object.values(others)]);
    moment += 1;
    layers.apply(seen, others);
    for (const kind of kinds) {
      for (const name of Object.keys(seen[kind])) untold[kind].add(name);
    }
    if (changes.untold !== undefined) untold = createUntold(changes.untold);
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

  function statesOf(id: string): readonly KnownObject[] {
    const states = counting().flatMap(([toldBy, { objects }]): KnownObject[] => {
      const value = objects.get(id);
      return value === undefined ? [] : [{ ...value, toldBy }];
    });
    const seen = own.objects.get(id);
    if (seen !== undefined) states.push(seen);
    const last = Math.max(0, ...states.map(({ accepted = 0 }) => accepted));
    return states.filter(({ accepted = 0 }) => accepted === last);
  }

  /** Returns what was known of a document at a moment. */
  function documentAt(id: string, at: number): Known<RememberedDocument> | undefined {
    const replaced = history.at(id, at);
    return replaced === undefined ? document(id) : replaced.value.document;
  }

  return {
    ...createKnownPeople(layers),
    apply,
    document,
    exchanged: () => exchanged,
    forgottenList: () => forgottenList,
    now: () => moment,

    /** Begins a look at this moment; `end` it once its answers were compared. */
    beginLook(): { readonly since: number; readonly end: () => void } {
      return { since: moment, end: history.open(moment) };
    },

    /**
     * Throws RolledBackError if a state of a document that the vault showed contradicts what was
     * remembered at an earlier moment.
     */
    compareDocument(id: string, shown: DocumentState, since: number): void {
      const found = documentAt(id, since);
      if (found === undefined || !isRolledBack(shown, found.value)) return;
      throw new RolledBackError({
        subject: 'document',
        ...parseName(id),
        remembered: describeDocument(found.value),
        shown: describeDocument(shown),
        state: shown,
        ...(found.toldBy !== undefined && { toldBy: found.toldBy }),
      });
    },

    /** Returns whether this very state is what counted at a moment, or the user believes any. */
    isKnown(id: string, { metadataHash }: DocumentState, at: number): boolean {
      const value = documentAt(id, at)?.value ?? {};
      return (
        'forgotten' in value || ('metadataHash' in value && value.metadataHash === metadataHash)
      );
    },

    /** Returns the names under which a document is remembered, also as one that was received. */
    namesOf(id: string): readonly string[] {
      const all = [own, ...counting().map(([, layer]) => layer)];
      const names = all.flatMap(({ documents }) => Array.from(documents.keys()));
      return [...new Set([id, ...names.filter((name) => parseName(name).id === id)])];
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

    isRevoked: layers.isRevoked,
    lostReports: layers.lostReports,
    devices: layers.devices,
    isRevokedDevice: (deviceId: string): boolean => layers.isRevoked(deviceId),

    /** Returns the statements in an object that the writer of a list told; {} for none. */
    listedObject: (writer: string, objectId: string): StatementIds =>
      told.get(writer)?.objects.get(objectId)?.statements ?? {},

    /**
     * Returns the states of an object that count: what this device and others had seen at a moment,
     * after the last time that the user accepted an older one.
     */
    objectStates: (id: string, at: number): readonly KnownObject[] =>
      history.at(id, at)?.value.states ?? statesOf(id),

    vaultKeys: (): readonly string[] | undefined =>
      first((layer) => layer.vaultKeys.get('first'))?.value,

    account: (): AccountNames | undefined => first(({ account }) => account.get('own'))?.value,

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
      layers.clear();
      history.clear();
      untold = createUntold();
      exchanged = undefined;
    },
  };
}

function createUntold(given: Untold = {}): Readonly<Record<Kind, Set<string>>> {
  const names = Object.fromEntries(kinds.map((kind) => [kind, new Set(given[kind])]));
  return names as Record<Kind, Set<string>>;
}
