import { z } from 'zod';
import { counters, type Counter } from '../db/usage/quota.ts';

const Used = z.strictObject({ used: z.int(), limit: z.int() });

export const UsageView = z
  .strictObject({
    plan: z.string().meta({ description: 'The plan that applies.' }),
    usage: z.strictObject(
      Object.fromEntries(counters.map((counter) => [counter, Used])) as Record<
        Counter,
        typeof Used
      >,
    ),
  })
  .meta({ id: 'Usage' });
