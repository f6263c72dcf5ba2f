import { largeTextLength, type HeavyWork, type Steps } from '../../async/heavy-work.ts';
import { hasMoreValues, type JsonObject } from '../../json/json-values.ts';

/** JSON values in a change above which the work on it is done in turns. */
const manyValues = 500;

interface Work {
  /** The change itself; null for a deletion. */
  readonly change: JsonObject | null;
  /** The text of the object before the change; null if it has none. */
  readonly text: string | null;
}

/** Returns how to do the work on a change of an object. */
export function stepsOf(heavyWork: HeavyWork, { change, text }: Work): Steps {
  const isLarge = text !== null && text.length > largeTextLength;
  return heavyWork.stepsFor(isLarge || hasMoreValues(change, manyValues));
}
