import { z } from 'zod';
import { Limit, Moment, Timestamp, Uuid } from '../../http/bodies/wire.ts';

const Name = z.string().min(1).max(512);
/** Most are UUIDs, which are one in either case. */
const ResourceId = Name.overwrite((id) => Uuid.safeParse(id).data ?? id);

export const EntryQuery = z.strictObject({
  resourceType: Name.optional(),
  resourceId: ResourceId.optional(),
  action: Name.optional(),
  /** The first moment, and the first one after. */
  from: Moment.optional(),
  to: Moment.optional(),
  limit: Limit,
  cursor: Uuid.optional(),
});

/** What the text of an entry says of it beside what the columns do. */
export const EntryText = z.object({
  actor: z.strictObject({
    type: z.enum(['user', 'system', 'anonymous']),
    id: z.string().nullable(),
  }),
  outcome: z.enum(['success', 'failure']),
  data: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});

export const EntryView = z
  .strictObject({
    id: Uuid,
    action: z.string(),
    resource: z.strictObject({ type: z.string(), id: z.string() }),
    seq: z.int(),
    /** As `outcome` and `data`, null once erased. */
    actor: EntryText.shape.actor.nullable(),
    outcome: EntryText.shape.outcome.nullable(),
    state: z.enum(['PENDING', 'SEALED', 'DEAD', 'ABANDONED', 'ERASED']),
    recordedAt: Timestamp,
    sealedAt: Timestamp.nullable(),
    data: EntryText.shape.data.nullable(),
  })
  .meta({ id: 'AuditEntry' });

export const EntryList = z.array(EntryView);
