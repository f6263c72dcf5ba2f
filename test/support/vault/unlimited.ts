import { counters, type Counts } from '../../../app/db/usage/quota.ts';
import type { Plans } from '../../../app/plans/plans.ts';

const limits = Object.fromEntries(
  counters.map((counter) => [counter, Number.MAX_SAFE_INTEGER]),
) as Counts;

/** Plans without limits, for services that a test creates by itself. */
export const unlimited: Plans = (name) => ({ name, limits });
