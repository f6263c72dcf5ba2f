import type { Condition, ConditionStatus } from '../resources/condition.ts';

/** A condition that a reconciler finds, without its history. */
export interface Finding<Type extends string = string, Reason extends string = string> {
  readonly type: Type;
  readonly status: ConditionStatus;
  readonly reason: Reason;
  readonly message: string;
}

interface Circumstances {
  /** The metadata.generation of the resource. */
  readonly generation: number;
  readonly now: Date;
}

/** Returns the conditions of findings; one whose status is as before keeps its transition time. */
export function setConditions(
  before: readonly Condition[],
  findings: readonly Finding[],
  { generation, now }: Circumstances,
): Condition[] {
  return findings.map((finding) => {
    const old = before.find(({ type }) => type === finding.type);
    const lastTransitionTime =
      old?.status === finding.status ? old.lastTransitionTime : now.toISOString();
    return { ...finding, observedGeneration: generation, lastTransitionTime };
  });
}

/** A change as `kubectl describe` shows it. */
export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/**
 * Returns an event for each condition whose status or reason has changed. `isWarning` tells which
 * findings are bad news.
 */
export function eventsOf(
  before: readonly Condition[],
  after: readonly Condition[],
  isWarning: (condition: Condition) => boolean,
): EventNote[] {
  return after
    .filter((condition) => {
      const old = before.find(({ type }) => type === condition.type);
      return old?.status !== condition.status || old.reason !== condition.reason;
    })
    .map((condition) => ({
      type: isWarning(condition) ? 'Warning' : 'Normal',
      reason: condition.reason,
      message: `${condition.type} is ${condition.status}: ${condition.message}`,
    }));
}
