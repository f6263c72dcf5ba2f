import type { Log } from '../telemetry/log.ts';
import type { Plan } from './plan.ts';

/**
 * The maximum number of unknown plan names to remember, which bounds the memory: tokens of other
 * issuers may contain any name.
 */
const maxNotedNames = 1_000;

interface PlansOptions {
  readonly standard: Plan;
  /**
   * The plans other than the standard plan, by name. A limit that a plan leaves out is that of the
   * standard plan.
   */
  readonly named: ReadonlyMap<string, Partial<Plan>>;
  readonly log: Log;
}

/** A plan that applies, under its own name. */
interface NamedPlan {
  readonly name: string;
  readonly limits: Plan;
}

export type Plans = ReturnType<typeof createPlans>;

/**
 * Creates the function that returns the plan of a name: for a name that is not configured, the
 * standard plan, with a warning in the log at its first use.
 */
export function createPlans({ standard, named, log }: PlansOptions): (name: string) => NamedPlan {
  const noted = new Set(['standard']);
  const complete = new Map(
    [...named].map(([name, plan]) => [name, { name, limits: { ...standard, ...plan } }]),
  );
  return (name) => {
    const plan = complete.get(name);
    if (plan !== undefined) return plan;
    if (!noted.has(name) && noted.size <= maxNotedNames) {
      noted.add(name);
      log.warn({ plan: name }, 'a plan is not configured: the standard plan applies');
    }
    return { name: 'standard', limits: standard };
  };
}
