import type { z } from 'zod';
import type { Database } from '../db/database.ts';
import { counters, type Counter } from '../db/usage/quota.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { Plans } from '../plans/plans.ts';
import { loadUsage } from './room.ts';
import type { UsageView } from './schema.ts';

type View = z.input<typeof UsageView>;

interface UsageOptions {
  readonly db: Database;
  readonly plans: Plans;
}

export type Usage = ReturnType<typeof createUsage>;

/** Creates the service that shows users what they keep. */
export function createUsage({ db, plans }: UsageOptions) {
  return {
    /** Returns what the caller keeps in the tenant, and the limits of the caller's plan. */
    async get({ caller }: ServiceRequest): Promise<View> {
      const { name, limits } = plans(caller.plan);
      const used = await db.asUser(caller, (tx) => loadUsage(tx, caller));
      const toUsed = (counter: Counter) => ({ used: used[counter], limit: limits[counter] });
      const usage = Object.fromEntries(counters.map((counter) => [counter, toUsed(counter)]));
      return { plan: name, usage: usage as View['usage'] };
    },
  };
}
