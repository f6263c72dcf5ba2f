import type { Log } from '../../telemetry/log.ts';
import type { Plan } from './quota.ts';

/** So many unknown names are remembered, so that tokens of other issuers cannot fill the memory. */
const maxNotedNames = 1_000;

interface PlansOptions {
  readonly standard: Plan;
  /** The others, by name. */
  readonly named: ReadonlyMap<string, Plan>;
  readonly log: Log;
}

/** The plan of a name. One that is not configured is the standard plan, and is logged once. */
export function createPlans({ standard, named, log }: PlansOptions): (name: string) => Plan {
  const noted = new Set(['standard']);
  return (name) => {
    const plan = named.get(name);
    if (plan !== undefined) return plan;
    if (!noted.has(name) && noted.size <= maxNotedNames) {
      noted.add(name);
      log.warn({ plan: name }, 'a plan is not configured: the standard one holds');
    }
    return standard;
  };
}
