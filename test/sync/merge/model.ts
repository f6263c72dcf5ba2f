import { decide, type Accepted } from '../../../app/sync/merge/decision.ts';
import { resolvePatch } from '../../../app/sync/merge/edits.ts';
import type { JsonObject } from '../../../app/json/json-values.ts';
import type { Change, Rule } from '../../../app/sync/merge/rules.ts';

/** A change of the first version, made without knowledge of any later version. */
export interface OfflineWrite extends Change {
  readonly delta: JsonObject;
}

export interface Ending {
  readonly data: JsonObject;
  readonly accepted: readonly OfflineWrite[];
  readonly conflicts: number;
}

/**
 * Applies writes of the first version one after the other, and returns the result at the server.
 */
export function receive(
  first: JsonObject,
  writes: readonly OfflineWrite[],
  ruleOf: (pointer: string) => Rule | undefined = () => undefined,
): Ending {
  const touched = new Map<string, Change>();
  const accepted: OfflineWrite[] = [];
  let data = first;
  for (const write of writes) {
    const { delta, changedAt, deviceId } = write;
    const by = { changedAt, deviceId };
    const since = { touched, by, ruleOf };
    const object = { version: 1 + accepted.length, data };
    const decision = decide(object, { baseVersion: 1, patch: resolvePatch(data, delta) }, since);
    if ('conflictType' in decision) continue;
    accepted.push(write);
    data = dataOf(decision);
    for (const field of decision.changed ?? []) touched.set(field, by);
  }
  return { data, accepted, conflicts: writes.length - accepted.length };
}

function dataOf({ data }: Accepted): JsonObject {
  if (data === null) throw new TypeError('a patch deleted the object');
  return data;
}
