import { z } from 'zod';
import { Limit, Moment, Timestamp, Uuid } from '../../http/bodies/wire.ts';

const Name = z.string().min(1).max(512);
/** The id of any resource. A UUID, as most ids are, is converted to lower case. */
const ResourceId = Name.overwrite((id) => Uuid.safeParse(id).data ?? id);

export const EntryQuery = z.strictObject({
  resourceType: Name.optional(),
  resourceId: ResourceId.optional(),
  action: Name.optional(),
  /** The period of the entries: `from` is inclusive, `to` is exclusive. */
  from: Moment.optional(),
  to: Moment.optional(),
  limit: Limit,
  cursor: Uuid.optional(),
});

/** The members of an entry's text that are in no column of its row. */
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
    /** Null if the entry's text was erased or is not valid; so are `outcome` and `data`. */
    actor: EntryText.shape.actor.nullable(),
    outcome: EntryText.shape.outcome.nullable(),
    state: z.enum(['PENDING', 'SEALED', 'DEAD', 'ABANDONED', 'ERASED']),
    recordedAt: Timestamp,
    sealedAt: Timestamp.nullable(),
    data: EntryText.shape.data.nullable(),
  })
  .meta({ id: 'AuditEntry' });

export const EntryList = z.array(EntryView);
