import type { Log } from '../../telemetry/log.ts';
import type { Plan } from './quota.ts';

/**
 * The maximum number of unknown plan names to remember, which bounds the memory: tokens of other
 * issuers may contain any name.
 */
const maxNotedNames = 1_000;

interface PlansOptions {
  readonly standard: Plan;
  /** The plans other than the standard plan, by name. */
  readonly named: ReadonlyMap<string, Plan>;
  readonly log: Log;
}

/**
 * Creates the function that returns the plan of a name: for a name that is not configured, the
 * standard plan, with a warning in the log at its first use.
 */
export function createPlans({ standard, named, log }: PlansOptions): (name: string) => Plan {
  const noted = new Set(['standard']);
  return (name) => {
    const plan = named.get(name);
    if (plan !== undefined) return plan;
    if (!noted.has(name) && noted.size <= maxNotedNames) {
      noted.add(name);
      log.warn({ plan: name }, 'a plan is not configured: the standard plan applies');
    }
    return standard;
  };
}
