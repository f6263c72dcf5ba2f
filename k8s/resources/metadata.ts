import { z } from 'zod';

/** The parts of the metadata of a custom resource that the operator reads. */
export const metadataOf = z.object({
  name: z.string(),
  namespace: z.string(),
  uid: z.string(),
  generation: z.int(),
  resourceVersion: z.string(),
  creationTimestamp: z.string(),
  annotations: z.record(z.string(), z.string()).default({}),
});
export type Metadata = z.output<typeof metadataOf>;
