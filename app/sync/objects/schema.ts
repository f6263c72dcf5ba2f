import { z } from 'zod';
import { describedAs, Flag, Limit, Moment, Uuid, UuidCursor } from '../../http/bodies/wire.ts';
import { Cursor } from './cursor.ts';
import { isObject, type JsonObject } from '../../json/json-values.ts';
import { maxDataBytes } from '../merge/limits.ts';

/**
 * Any JSON object; `assertStorable` limits its depth, size and number of leaves. Not a record of
 * zod, which would copy the object: that takes longer than parsing it.
 */
const Data = z.custom<JsonObject>(isObject, 'must be an object').meta({
  description: `A JSON object of at most ${maxDataBytes} bytes of RFC 8785 text.`,
  override: { type: 'object', additionalProperties: {} },
});

/** Parses the stored text of an object. */
export function readData(text: string): z.output<typeof Data> {
  return Data.parse(JSON.parse(text));
}

const Version = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);
const Time = z.iso.datetime({ precision: 3 });
const objectId = Uuid.describe('Id of the object, which a client chose.');
const version = z.int().min(1).describe('Number of this state of the object, from 1.');
const lastModifiedAt = Time.describe('When the vault recorded this state.');

export const CreateObject = z
  .strictObject({
    objectId,
    data: Data,
    objectType: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be 1 to 64 letters, digits, . _ or -')
      .optional()
      .describe('Type, by which merge rules are chosen: 1 to 64 letters, digits, `.`, `_`, `-`.'),
  })
  .meta({ id: 'SyncCreation' });

export const WriteObject = z
  .strictObject({
    objectId,
    version: Version.describe('The version that the write makes: `baseVersion` + 1.'),
    baseVersion: Version.or(z.literal(0))
      .nullable()
      .meta({
        description: 'The version on which the change is based; null or 0 for none.',
        ...describedAs({ type: ['integer', 'null'], minimum: 0, maximum: 2 ** 31 - 1 }),
      }),
    delta: Data.optional().meta({
      description: 'The changed members as a JSON Merge Patch (RFC 7396); or `deleted`.',
    }),
    deleted: z
      .literal(true)
      .optional()
      .meta({ description: 'Deletes the object; takes the place of `delta`.' }),
    changedAt: Moment.pipe(z.date().min(new Date(0)))
      .optional()
      .meta({
        description:
          'Time of the change by the client’s clock, at most 5 minutes ahead. Default: now.',
      }),
  })
  .refine(({ delta, deleted }) => (delta === undefined) !== (deleted === undefined), {
    path: ['delta'],
    message: 'must have either delta or deleted',
  })
  .refine(({ version, baseVersion }) => version === (baseVersion ?? 0) + 1, {
    path: ['version'],
    message: 'must be baseVersion + 1',
  })
  .meta({ id: 'SyncWrite' });

export const ObjectId = z.strictObject({ objectId });

export const ObjectView = z
  .strictObject({ objectId, version, data: Data, lastModifiedAt })
  .meta({ id: 'SyncObject' });

export const Applied = z
  .strictObject({
    status: z.literal('APPLIED').describe('The write was applied.'),
    objectId,
    version,
    data: Data.nullable().meta({ description: 'The merged object; null for a deleted one.' }),
    ruleApplied: z.string().nullable().meta({
      description: 'Null if nobody else had changed the object; see docs/sync.md.',
    }),
    lastModifiedAt,
  })
  .meta({ id: 'SyncApplied' });

const ConflictType = z
  .enum(['CONCURRENT_MODIFICATION', 'DELETED_ON_SERVER', 'VERSION_AHEAD'])
  .describe(
    'Both sides changed the `fields`; the object was deleted; or `baseVersion` is above the ' +
      'newest version, which a restore of the vault can cause.',
  );

/** The members of a conflict response in addition to the members of every error body. */
export const Conflict = z.strictObject({
  status: z.literal('CONFLICT').describe('The write was not applied.'),
  objectId,
  conflictType: ConflictType,
  serverVersion: z.int().min(1).describe('The newest version.'),
  clientVersion: z.int().min(1).describe('The `version` of the refused write.'),
  fields: z
    .array(z.string())
    .describe('JSON Pointers (RFC 6901) of the leaves that both sides changed.'),
  serverData: Data.nullable().meta({
    description: 'The object in its newest version; null for a deleted object.',
  }),
});

export const ChangePage = z.strictObject({
  includeDeleted: Flag.describe('Lists tombstones of deleted objects too.'),
  since: Cursor.optional().meta({
    description:
      'The nextCursor of an earlier response: lists what changed after it, with tombstones. ' +
      'Lists everything if the vault was restored from a backup since.',
  }),
  limit: Limit,
});

const ObjectSummary = z
  .strictObject({
    objectId,
    version,
    lastModifiedAt,
    deleted: z.literal(true).optional().describe('`true` for a deleted object, else absent.'),
  })
  .meta({ id: 'SyncObjectSummary' });

export const ChangeList = z
  .strictObject({
    objects: z.array(ObjectSummary).describe('Objects in the order of their last changes.'),
    total: z.int().min(0).describe('Number of objects of the user that are not deleted.'),
    nextCursor: z.string().describe('The `since` of the next request.'),
  })
  .meta({ id: 'SyncObjectList' });

export const HistoryPage = z.strictObject({ limit: Limit, cursor: UuidCursor });

const HistoryEntry = z
  .strictObject({
    id: Uuid.describe('Id of the write.'),
    version: z.int().min(1).describe('The version that the write made, or would have made.'),
    baseVersion: z.int().min(0).nullable().describe('The version on which the write was based.'),
    status: z.enum(['APPLIED', 'CONFLICT']).describe('Outcome of the write.'),
    conflictType: ConflictType.nullable().describe('Kind of conflict; null if it was applied.'),
    ruleApplied: z.string().nullable().describe('Rules by which it was merged; null for none.'),
    syncRequestId: Uuid.nullable().describe('The X-Sync-Request-Id of the write; null for none.'),
    deviceId: Uuid.describe('The device that wrote.'),
    timestamp: Time.describe('When the vault recorded the write.'),
  })
  .meta({ id: 'SyncHistoryEntry' });

export const HistoryList = z
  .strictObject({
    objectId,
    history: z.array(HistoryEntry).describe('Writes, oldest first.'),
  })
  .meta({ id: 'SyncHistory' });

const ExportedVersion = z
  .strictObject({
    version,
    timestamp: Time.describe('When the vault recorded the version.'),
    device_id: Uuid.describe('The device that wrote the version.'),
  })
  .meta({ id: 'SyncExportVersion' });

/** The members of an export, which is sent as canonical JSON text. */
export const ExportedObject = z
  .strictObject({
    object_id: objectId,
    exported_at: Time.describe('When the export was made.'),
    canonical_version: version,
    data: Data,
    history: z.array(ExportedVersion).describe('Versions, oldest first.'),
  })
  .meta({ id: 'SyncExport' });
