import type { Log } from '../../telemetry/log.ts';
import type { Plan } from './quota.ts';

/** Bounds the memory for unknown names, which tokens of other issuers may contain. */
const maxNotedNames = 1_000;

interface PlansOptions {
  readonly standard: Plan;
  /** The other plans by name. */
  readonly named: ReadonlyMap<string, Plan>;
  readonly log: Log;
}

/**
 * Creates the function that returns the plan of a name: the standard plan if the name is not
 * configured, which is logged once.
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
