import { z } from 'zod';
import { Limit, Moment, MonthText, Timestamp, Uuid, UuidCursor } from '../../http/bodies/wire.ts';

const Name = z.string().min(1).max(512);
/** The id of any resource. A UUID, as most ids are, is converted to lower case. */
const ResourceId = Name.overwrite((id) => Uuid.safeParse(id).data ?? id);

export const EntryQuery = z.strictObject({
  resourceType: Name.optional().describe('Only entries of resources of this type.'),
  resourceId: ResourceId.optional().describe('Only entries of the resource with this id.'),
  action: Name.optional().describe('Only entries of this action, such as `document.sealed`.'),
  from: Moment.optional().describe('Only entries that were recorded at this time or later.'),
  to: Moment.optional().describe('Only entries that were recorded before this time.'),
  limit: Limit,
  cursor: UuidCursor,
});

/** The members of an entry's text that are in no column of its row. */
export const EntryText = z.object({
  actor: z
    .strictObject({
      type: z.enum(['user', 'system', 'anonymous']).describe('Kind of the actor.'),
      id: z.string().nullable().describe('Id of the user or worker; null for a stranger.'),
    })
    .meta({ id: 'AuditActor' }),
  outcome: z.enum(['success', 'failure']),
  data: z.record(z.string(), z.unknown()),
});

const Resource = z
  .strictObject({
    type: z.string().describe('Type, such as `document`.'),
    id: z.string().describe('Id; a UUID for most types.'),
  })
  .meta({ id: 'AuditResource' });

export const EntryView = z
  .strictObject({
    id: Uuid.describe('Id of the entry, and of its audit proof.'),
    action: z.string().describe('Name of the action, such as `document.sealed`.'),
    resource: Resource.describe('What the entry is about.'),
    seq: z.int().min(1).describe('Number of the entry among those of its resource, without gaps.'),
    actor: EntryText.shape.actor
      .nullable()
      .describe('Who acted; null if the text was erased or is not valid.'),
    outcome: EntryText.shape.outcome
      .nullable()
      .describe('Whether the action succeeded; null if the text was erased or is not valid.'),
    state: z
      .enum(['PENDING', 'SEALED', 'DEAD', 'ABANDONED', 'ERASED'])
      .describe('`SEALED` once it is signed; `DEAD` in the dead-letter queue.'),
    recordedAt: Timestamp.describe('When the entry was recorded.'),
    sealedAt: Timestamp.nullable().describe('When the entry was signed; null until then.'),
    data: EntryText.shape.data
      .nullable()
      .describe('Facts of the action; null if the text was erased or is not valid.'),
  })
  .meta({ id: 'AuditEntry' });

export const EntryList = z
  .strictObject({
    entries: z.array(EntryView).describe('The entries of this page, newest first.'),
    archivedMonths: z
      .array(MonthText)
      .describe(
        'Months in UTC, such as `2026-01`, from `from` to `to` that are archived outside of the ' +
          'vault: entries from these months are left out of all pages.',
      ),
  })
  .meta({ id: 'AuditEntries' });
