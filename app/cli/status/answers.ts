import { z } from 'zod';

// These schemas name the members of the app's answers that `probatio status` reads. Others are
// ignored, since the app may be of another release.

const Count = z.int().min(0);
const Time = z.iso.datetime().transform((text) => new Date(text));

export const HealthAnswer = z.object({
  checks: z.record(
    z.string(),
    z.object({ status: z.string(), latencyMs: Count, error: z.string().optional() }),
  ),
});
export type HealthAnswer = z.output<typeof HealthAnswer>;

const Alert = z.object({
  code: z.string(),
  severity: z.string(),
  message: z.string(),
  value: z.number(),
  threshold: z.number(),
  since: Time,
});
export type Alert = z.output<typeof Alert>;

export const AlertsAnswer = z
  .object({ alerts: z.array(Alert) })
  .transform(({ alerts }): readonly Alert[] => alerts);

export const LettersAnswer = z.object({
  pending: Count,
  oldestAt: Time.nullable(),
  byReason: z.record(z.string(), Count),
});
export type LettersAnswer = z.output<typeof LettersAnswer>;

const Key = z.object({
  keyId: z.string(),
  purpose: z.string(),
  generation: z.int(),
  state: z.string(),
  registeredAt: Time,
  activatedAt: Time.nullable(),
});
export type Key = z.output<typeof Key>;

export const KeysAnswer = z
  .object({ keys: z.array(Key) })
  .transform(({ keys }): readonly Key[] => keys);

export const SignerAnswer = z.object({
  tokenState: z.string(),
  keyIds: z.array(z.string()).nullable(),
});
export type SignerAnswer = z.output<typeof SignerAnswer>;

export const MarksAnswer = z.object({
  sealedEntries: Count,
  unmarkedEntries: Count.nullable(),
  unmarkedAgeSeconds: Count.nullable(),
  newest: z
    .object({
      writtenAt: Time,
      ageSeconds: Count,
      state: z.string(),
      sealedEntries: Count.nullable(),
      newestEntryId: z.string().nullable(),
    })
    .nullable(),
});
export type MarksAnswer = z.output<typeof MarksAnswer>;

const Run = z.object({
  state: z.string(),
  error: z.string().nullable(),
  startedAt: Time,
  endedAt: Time.nullable(),
});

const Task = z.object({
  task: z.string(),
  lastRun: Run.nullable(),
  lastSuccess: Run.nullable(),
  running: Run.nullable(),
});
export type Task = z.output<typeof Task>;

export const MaintenanceAnswer = z.object({
  tasks: z.array(Task),
  outbox: z.object({
    waiting: Count,
    oldestAt: Time.nullable(),
    parked: z.record(z.string(), Count),
  }),
  jobs: z.object({
    pending: Count,
    active: Count,
    completed: Count,
    failed: Count,
    retried: Count,
  }),
  backlog: z.object({ unsigned: Count, oldestAt: Time.nullable() }),
});
export type MaintenanceAnswer = z.output<typeof MaintenanceAnswer>;

/** The body of an error of the app. */
export const ErrorAnswer = z.object({ code: z.string().regex(/^[a-z_]{1,64}$/) });
