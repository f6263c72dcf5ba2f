import { isOlder } from './object-order.ts';
import type { Recollection } from './recollection.ts';
import type { KnownObject, RememberedObject, StatementIds } from './remembered.ts';

/** A look at the synchronised objects: what was known of them when it began. */
export interface ObjectLook {
  /**
   * Returns the statements that an object had when the master key was replaced; {} if it had none,
   * undefined if the master key was never replaced. A statement that only an earlier master key
   * opens is believed if it is one of these.
   */
  listed(objectId: string): StatementIds | undefined;
  /** Returns the states of an object that were seen, none of which is older than what counts. */
  known(objectId: string): readonly KnownObject[];
  /**
   * Remembers the present states of objects, by their ids. One that is older than a known state was
   * accepted by the user.
   */
  saw(states: Readonly<Record<string, Omit<RememberedObject, 'accepted'>>>): Promise<void>;
  /** Ends the look: no answer is compared by it any more. */
  end(): void;
}

interface LookOptions {
  readonly recollection: Recollection;
  /** The writer of the list of the last rekey. */
  readonly list: () => string | undefined;
  readonly keep: (objects: Readonly<Record<string, RememberedObject>>) => Promise<void>;
}

/** Begins a look at the synchronised objects. */
export function lookAtObjects({ recollection, list, keep }: LookOptions): ObjectLook {
  const { since, end } = recollection.beginLook();
  return {
    end,

    listed(objectId) {
      const writer = list();
      return writer === undefined ? undefined : recollection.listedObject(writer, objectId);
    },

    known: (objectId) => recollection.objectStates(objectId, since),

    async saw(states) {
      const news: Record<string, RememberedObject> = {};
      for (const [objectId, state] of Object.entries(states)) {
        const value = newsOf(recollection.objectStates(objectId, recollection.now()), state);
        if (value !== undefined) news[objectId] = value;
      }
      if (Object.keys(news).length > 0) await keep(news);
    },
  };
}

/** Returns the value for a state; undefined if this device remembers it. */
function newsOf(
  known: readonly KnownObject[],
  state: Omit<RememberedObject, 'accepted'>,
): RememberedObject | undefined {
  const before = Math.max(0, ...known.map(({ accepted = 0 }) => accepted));
  const accepted = known.some((other) => isOlder(state, other)) ? before + 1 : before;
  const value = { ...state, ...(accepted > 0 && { accepted }) };
  const own = known.find(({ toldBy }) => toldBy === undefined);
  const isSame = own !== undefined && !isOlder(own, value) && !isOlder(value, own);
  return isSame && own.accepted === value.accepted ? undefined : value;
}
