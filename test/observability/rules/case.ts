import type { Severity } from '../../../charts/monitoring/rule.ts';

/** Series by name and labels, with their values each minute in the notation of promtool. */
type Input = Readonly<Record<string, string>>;

/** A made-up history, and the alerts with a name that fire at one moment of it. */
export interface RuleCase {
  readonly alert: string;
  readonly severity: Severity;
  readonly input: Input;
  /** The moment, as a duration since the history began. */
  readonly at: string;
  /** The labels with which the alert fires, without its severity; absent if it is to be silent. */
  readonly fires?: Readonly<Record<string, string>>;
}

export const vault = { namespace: 'v' };
export const ofProcess = { ...vault, instance: 'a' };
