import { z } from 'zod';

export const ConditionStatus = z.enum(['True', 'False', 'Unknown']);
export type ConditionStatus = z.output<typeof ConditionStatus>;

/** A condition as Kubernetes defines it (metav1.Condition), with times as texts. */
export const Condition = z.object({
  type: z.string().describe('Name of the condition.'),
  status: ConditionStatus.describe('Whether the condition holds.'),
  observedGeneration: z
    .int()
    .describe('The metadata.generation of the resource that the condition is about.'),
  lastTransitionTime: z.string().describe('When the status of the condition last changed.'),
  reason: z.string().describe('Why, as one word of a closed list.'),
  message: z.string().describe('Why, as a sentence.'),
});
export type Condition = z.output<typeof Condition>;

/** The conditions of a status, one of each type. */
export const Conditions = z.array(Condition).meta({
  description: 'What holds of the resource.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
});
