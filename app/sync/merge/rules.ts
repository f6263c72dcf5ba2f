import { z } from 'zod';
import { canonicalText } from '../../json/canonical-text.ts';
import { textOf } from '../../json/json-values.ts';
import { parentOf } from './json-pointer.ts';

/** The rule that settles a field which two devices changed concurrently. */
export const Rule = z.enum([
  'LAST_WRITE_WINS',
  'SERVER_WINS',
  'CLIENT_WINS',
  'MAX',
  'MIN',
  'UNION',
]);

export type Rule = z.output<typeof Rule>;

/** Rules by type of object, then JSON Pointer; `*` stands for types without rules of their own. */
export type SyncRules = ReadonlyMap<string, ReadonlyMap<string, Rule>>;

/**
 * Returns the merge rule of a field, or of its nearest ancestor that has a rule; undefined if there
 * is none.
 */
export function ruleOf(
  rules: SyncRules,
  objectType: string | null,
  pointer: string,
): Rule | undefined {
  const ofType = (objectType === null ? undefined : rules.get(objectType)) ?? rules.get('*');
  for (let at: string | undefined = pointer; at !== undefined; at = parentOf(at)) {
    const rule = ofType?.get(at);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

export interface Change {
  /** Time of the change by the client's clock. */
  readonly changedAt: Date;
  readonly deviceId: string;
}

/** The change that one of two devices made to a field. */
export interface Side extends Change {
  /** Undefined if the device removed the field. */
  readonly value: unknown;
}

/** The side whose value is kept, or a new value; undefined if the rule cannot settle the values. */
export type Verdict = 'server' | 'client' | { readonly value: unknown } | undefined;

/** Applies a rule to the two sides of a field. */
export function judge(rule: Rule, server: Side, client: Side): Verdict {
  switch (rule) {
    case 'SERVER_WINS':
      return 'server';
    case 'CLIENT_WINS':
      return 'client';
    case 'LAST_WRITE_WINS':
      return isLater(client, server) ? 'client' : 'server';
    case 'MAX':
      return greater(client.value, server.value, 'client', 'server');
    case 'MIN':
      return greater(client.value, server.value, 'server', 'client');
    case 'UNION':
      return union(server.value, client.value);
    default:
      return rule satisfies never;
  }
}

/**
 * Returns whether `one` is later than `other`. Compares time, then device, then value, so that the
 * result does not depend on the order of arrival.
 */
export function isLater(one: Side, other: Side): boolean {
  const difference = one.changedAt.getTime() - other.changedAt.getTime();
  if (difference !== 0) return difference > 0;
  if (one.deviceId !== other.deviceId) return one.deviceId > other.deviceId;
  return textOf(one.value) > textOf(other.value);
}

function greater<T>(one: unknown, other: unknown, yes: T, no: T): T | undefined {
  if (typeof one !== 'number' || typeof other !== 'number') return undefined;
  return one > other ? yes : no;
}

/** Returns the elements of both arrays, each once, in the order of their canonical texts. */
function union(one: unknown, other: unknown): { readonly value: unknown } | undefined {
  if (!Array.isArray(one) || !Array.isArray(other)) return undefined;
  const elements: unknown[] = [...one, ...other];
  const byText = new Map(elements.map((element) => [canonicalText(element), element]));
  return { value: [...byText.keys()].toSorted().map((text) => byText.get(text)) };
}
