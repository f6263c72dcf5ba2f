import { z } from 'zod';

/** A label of a metric: its values, and what they are if they are too many to list. */
const LabelDescription = z.strictObject({
  name: z.string(),
  values: z.array(z.string()),
  description: z.string().optional(),
});

/** A metric as docs/metrics.md shows it. */
export const MetricDescription = z.strictObject({
  name: z.string(),
  type: z.enum(['counter', 'gauge', 'histogram']),
  help: z.string(),
  labels: z.array(LabelDescription),
  /** Upper bounds of the buckets of a histogram. */
  buckets: z.array(z.number()).optional(),
});
export type MetricDescription = z.output<typeof MetricDescription>;
