import {
  isRolledBack,
  type DocumentState,
  type RememberedChanges,
  type RememberedDocument,
  type RememberedPerson,
  type RememberedShare,
} from './remembered.ts';
import { RolledBackError } from './rolled-back-error.ts';

/** Creates what is remembered, as it is held while the memory is open. */
export function createRecollection() {
  /** The documents, and the moment at which each was remembered. */
  const documents = new Map<string, { value: RememberedDocument; at: number }>();
  const people = new Map<string, RememberedPerson>();
  const shares = new Map<string, RememberedShare>();
  let vaultKeys: readonly string[] | undefined;
  let moment = 0;

  function apply(changes: RememberedChanges): void {
    moment += 1;
    put(documents, changes.documents, (value) => ({ value, at: moment }));
    put(people, changes.people, (value) => value);
    put(shares, changes.shares, (value) => value);
    vaultKeys = changes.vaultKeys ?? vaultKeys;
  }

  return {
    apply,

    /** Returns the present moment, for `compareDocument`. */
    now: () => moment,

    /**
     * Throws RolledBackError if a state of a document that the vault showed contradicts what was
     * remembered at an earlier moment.
     */
    compareDocument(id: string, shown: DocumentState, since: number): void {
      const found = documents.get(id.toLowerCase());
      if (found === undefined || found.at > since || !isRolledBack(shown, found.value)) return;
      const [remembered, told] = [describe(found.value), describe(shown)];
      throw new RolledBackError({ subject: 'document', id, remembered, shown: told });
    },

    /** Throws RolledBackError if a share stands for something else than was remembered. */
    compareShare(id: string, shown: RememberedShare): void {
      const found = shares.get(id);
      const [remembered, told] = [describeShare(found ?? shown), describeShare(shown)];
      if (remembered === told) return;
      throw new RolledBackError({ subject: 'share', id, remembered, shown: told });
    },

    /**
     * Takes changes up, except older states of documents and shares that are known. Returns those
     * that change something, or undefined if none does.
     */
    change(given: Partial<RememberedChanges>): RememberedChanges | undefined {
      const changed = Object.entries(given.documents ?? {})
        .map(([id, value]) => [id.toLowerCase(), value] as const)
        .filter(([id, value]) => isNews(documents.get(id)?.value, value));
      const received = Object.entries(given.shares ?? {}).filter(([id]) => !shares.has(id));
      const changes = {
        people: {},
        ...given,
        documents: Object.fromEntries(changed),
        shares: Object.fromEntries(received),
      };
      const counted = [changes.documents, changes.people, changes.shares];
      const isEmpty = counted.every((values) => Object.keys(values).length === 0);
      if (isEmpty && given.vaultKeys === undefined) return undefined;
      apply(changes);
      return changes;
    },

    person: (name: string): RememberedPerson | undefined => people.get(name),
    vaultKeys: () => vaultKeys,

    /** Returns everything, for the record that replaces all others. */
    summary: (): RememberedChanges => ({
      documents: Object.fromEntries(Array.from(documents, ([id, { value }]) => [id, value])),
      people: Object.fromEntries(people),
      shares: Object.fromEntries(shares),
      ...(vaultKeys !== undefined && { vaultKeys: [...vaultKeys] }),
    }),

    forgetAll(): void {
      documents.clear();
      people.clear();
      shares.clear();
      vaultKeys = undefined;
    },
  };
}

function put<T, Kept>(
  kept: Map<string, Kept>,
  changes: Readonly<Record<string, T | null>>,
  keep: (value: T) => Kept,
): void {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) kept.delete(name);
    else kept.set(name, keep(value));
  }
}

/** Returns whether a value replaces the one that is remembered. */
function isNews(known: RememberedDocument | undefined, value: RememberedDocument | null): boolean {
  if (known === undefined) return value !== null;
  if (value === null || value === 'removed') return value !== known;
  return !isRolledBack(value, known) && !isSame(value, known);
}

function isSame(one: DocumentState, other: RememberedDocument): boolean {
  return other !== 'removed' && one.metadataHash === other.metadataHash;
}

function describeShare({ documentId, version }: RememberedShare): string {
  return `document ${documentId}, ${version === null ? 'all versions' : `version ${version}`}`;
}

function describe(document: RememberedDocument): string {
  if (document === 'removed') return 'removed by the user';
  const { version, change, metadataHash } = document;
  return `version ${version}, change ${change}, metadata ${metadataHash.slice(0, 16)}`;
}
