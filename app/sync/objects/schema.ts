import { z } from 'zod';
import { Flag, Limit, Moment, Uuid } from '../../http/bodies/wire.ts';
import { StreamedJson } from '../../http/responses/streamed-json.ts';
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

export const CreateObject = z.strictObject({
  objectId: Uuid,
  data: Data,
  objectType: z
    .string()
    .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, . _ or -')
    .optional(),
});

export const WriteObject = z
  .strictObject({
    objectId: Uuid,
    version: Version,
    baseVersion: Version.or(z.literal(0)).nullable(),
    delta: Data.optional().meta({ description: 'A JSON Merge Patch (RFC 7396).' }),
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
  });

export const ObjectId = z.strictObject({ objectId: Uuid });

export const ObjectView = z
  .strictObject({ objectId: Uuid, version: z.int(), data: Data, lastModifiedAt: Time })
  .meta({ id: 'SyncObject' });

export const Applied = z
  .strictObject({
    status: z.literal('APPLIED'),
    objectId: Uuid,
    version: z.int(),
    data: Data.nullable().meta({ description: 'Null for a deleted object.' }),
    ruleApplied: z.string().nullable().meta({
      description: 'Null if nobody else had changed the object; see docs/sync.md.',
    }),
    lastModifiedAt: Time,
  })
  .meta({ id: 'SyncApplied' });

const ConflictType = z.enum(['CONCURRENT_MODIFICATION', 'DELETED_ON_SERVER', 'VERSION_AHEAD']);

/** The members of a conflict response in addition to the members of every error body. */
export const Conflict = z.strictObject({
  status: z.literal('CONFLICT'),
  objectId: Uuid,
  conflictType: ConflictType,
  serverVersion: z.int(),
  clientVersion: z.int(),
  /** The leaves that both sides changed, as JSON Pointers. */
  fields: z.array(z.string()),
  serverData: Data.nullable(),
});

export const ChangePage = z.strictObject({
  includeDeleted: Flag,
  since: Cursor.optional().meta({
    description:
      'The nextCursor of an earlier response: lists what changed after it, with tombstones. ' +
      'Lists everything if the vault was restored from a backup since.',
  }),
  limit: Limit,
});

export const ChangeList = z.strictObject({
  objects: z.array(
    z.strictObject({
      objectId: Uuid,
      version: z.int(),
      lastModifiedAt: Time,
      deleted: z.literal(true).optional(),
    }),
  ),
  total: z.int().meta({ description: 'Number of objects on this page and on those after it.' }),
  nextCursor: z.string(),
});

export const HistoryPage = z.strictObject({ limit: Limit, cursor: Uuid.optional() });

export const HistoryList = z.strictObject({
  objectId: Uuid,
  history: z.array(
    z.strictObject({
      id: Uuid,
      version: z.int(),
      baseVersion: z.int().nullable(),
      status: z.enum(['APPLIED', 'CONFLICT']),
      conflictType: ConflictType.nullable(),
      ruleApplied: z.string().nullable(),
      syncRequestId: Uuid.nullable(),
      deviceId: Uuid,
      timestamp: Time,
    }),
  ),
});

/** An export, sent as canonical JSON text; the members are for the documentation. */
export const Export = StreamedJson.meta({
  override: {
    type: 'object',
    required: ['object_id', 'exported_at', 'canonical_version', 'data', 'history'],
    properties: {
      object_id: { type: 'string', format: 'uuid' },
      exported_at: { type: 'string', format: 'date-time' },
      canonical_version: { type: 'integer' },
      data: { type: 'object' },
      history: {
        type: 'array',
        items: {
          type: 'object',
          required: ['version', 'timestamp', 'device_id'],
          properties: {
            version: { type: 'integer' },
            timestamp: { type: 'string', format: 'date-time' },
            device_id: { type: 'string', format: 'uuid' },
          },
        },
      },
    },
  },
});
