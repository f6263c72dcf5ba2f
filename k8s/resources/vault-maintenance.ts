import { z } from 'zod';
import { Conditions } from './condition.ts';
import { durationOfAtLeast } from './duration.ts';
import { apiVersion } from './group.ts';
import { metadataOf } from './metadata.ts';

const Time = z.string();
const Count = z.int().min(0);

export const VaultMaintenanceSpec = z.object({
  retryDeadLetters: z
    .object({
      above: Count.default(0).describe('The most dead letters that are left alone.'),
      everyMinutes: z
        .int()
        .min(5)
        .max(720)
        .default(60)
        .describe('The least minutes between two Jobs that retry them.'),
    })
    .optional()
    .describe('Runs the task retry-dlq, beside its schedule, when dead letters wait.'),
  backlogAbove: Count.default(10_000).describe(
    'The most audit entries without a signature that are no reason for a warning.',
  ),
  overdueAfter: durationOfAtLeast('1h')
    .default('26h')
    .describe('How long after its last success a scheduled task is overdue.'),
});

export const TaskStatus = z.object({
  task: z.string().describe('Name of the task.'),
  lastRun: Time.optional().describe('When its last run began.'),
  result: z.string().optional().describe('How that run went, with the code of its error.'),
  lastSuccess: Time.optional().describe('When the last run that succeeded began.'),
  nextRun: Time.optional().describe('When its CronJob runs it next.'),
});

export const VaultMaintenanceStatus = z.object({
  observedGeneration: z.int().describe('The metadata.generation that the status is about.'),
  tasks: z
    .array(TaskStatus)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['task'] })
    .describe('Every maintenance task.'),
  backlog: Count.optional().describe('Audit entries without a signature.'),
  backlogOldest: Time.optional().describe('When the oldest of them was added.'),
  deadLetters: Count.optional().describe('Entries in the dead-letter queue.'),
  deadLettersOldest: Time.optional().describe('When the oldest of them was added.'),
  lastVerification: Time.optional().describe('When the log was last verified with success.'),
  lastRetry: Time.optional().describe('When a Job that retries dead letters was last decided on.'),
  conditions: Conditions,
});
export type VaultMaintenanceStatus = z.output<typeof VaultMaintenanceStatus>;

export const VaultMaintenance = z.object({
  apiVersion: z.literal(apiVersion),
  kind: z.literal('VaultMaintenance'),
  metadata: metadataOf,
  spec: VaultMaintenanceSpec,
  status: VaultMaintenanceStatus.optional(),
});
export type VaultMaintenance = z.output<typeof VaultMaintenance>;
