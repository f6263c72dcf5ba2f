import { z } from 'zod';
import { SigningPurpose } from '../resources/purpose.ts';

// These schemas name the members of the app's answers that the operator reads. Others are ignored,
// since an app may be of another release.

const KeyId = z.string().regex(/^[0-9a-f]{32}$/);

/** A key of the registry. `record` is null until the entry that records the key is signed. */
const Key = z.object({
  keyId: KeyId,
  purpose: SigningPurpose,
  generation: z.int().positive(),
  imported: z.boolean(),
  state: z.enum(['CREATED', 'ACTIVE', 'RETIRED', 'COMPROMISED']),
  activatedAt: z.iso.datetime().nullable(),
  record: z.unknown(),
});

/** A key of the registry, as the operator sees it. */
export const RegistryKey = Key.transform(({ record, ...key }) => ({
  ...key,
  isRecorded: record !== null && record !== undefined,
}));
export type RegistryKey = z.output<typeof RegistryKey>;

export const RegistryKeys = z.object({ keys: z.array(RegistryKey) });

/** The token behind one process of the app. `keyIds` is null if the token cannot be read. */
export const HeldKeys = z.object({
  /** The state of the token, such as `ready` or `unreachable`. */
  tokenState: z.string(),
  keyIds: z.array(KeyId).nullable(),
});
export type HeldKeys = z.output<typeof HeldKeys>;

const Time = z.iso.datetime();
const Run = z.object({
  state: z.enum(['RUNNING', 'SUCCEEDED', 'FAILED', 'INTERRUPTED']),
  error: z.string().nullable(),
  startedAt: Time,
});
const Queue = z.int().min(0);

export const MaintenanceState = z.object({
  tasks: z.array(
    z.object({ task: z.string(), lastRun: Run.nullable(), lastSuccess: Run.nullable() }),
  ),
  backlog: z.object({ unsigned: Queue, oldestAt: Time.nullable() }),
  deadLetters: z.object({ pending: Queue, oldestAt: Time.nullable() }),
});
export type MaintenanceState = z.output<typeof MaintenanceState>;

/** The body of an error of the app. */
export const ErrorBody = z.object({ code: z.string().regex(/^[a-z_]{1,64}$/) });
