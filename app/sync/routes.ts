import { parseDeviceId, requireDeviceId } from '../devices/guard.ts';
import { AppError } from '../errors/app-error.ts';
import { linkNextPage } from '../http/responses/next-page.ts';
import { Uuid, uuidText } from '../http/bodies/wire.ts';
import type { RequestInfo } from '../http/requests/request.ts';
import { largestBodyBytes } from '../http/bodies/json-body.ts';
import { listBytes } from '../http/responses/page.ts';
import { StreamedJson } from '../http/responses/streamed-json.ts';
import type { Contribution } from '../http/routing/contribution.ts';
import { routeFor } from '../http/routing/route.ts';
import { maxDataBytes } from './merge/limits.ts';
import { toError, toJsonText } from './objects/answers.ts';
import type { WritingDevice } from './objects/history.ts';
import {
  Applied,
  ChangeList,
  ChangePage,
  Conflict,
  CreateObject,
  ExportedObject,
  HistoryList,
  HistoryPage,
  ObjectId,
  ObjectView,
  WriteObject,
} from './objects/schema.ts';
import type { SyncReading } from './reading/reading.ts';
import { requireSchemaVersion } from './schema-versions.ts';
import type { Synchronization } from './synchronization.ts';

const tag = 'Synchronisation';
/** Bytes of an object with the names, ids and times around it. */
const objectBytes = maxDataBytes + 2 ** 12;
const mayRead = { scopes: ['sync:read'] } as const;
const mayWrite = { scopes: ['sync:write'] } as const;
const ofWrite = [
  'data_too_deep',
  'data_too_large',
  'too_many_fields',
  'paths_too_long',
  'number_out_of_range',
  'quota_exceeded',
  'audit_backlog_full',
] as const;

const takesRequestId: Contribution = {
  requestHeaders: {
    'X-Sync-Request-Id': uuidText
      .optional()
      .describe(
        'A UUID that makes the write idempotent: the same write under this id gets the first ' +
          'response again, for 7 days.',
      ),
  },
  errors: ['sync_request_reused', 'validation_failed'],
};

interface SyncServices {
  readonly synchronization: Synchronization;
  readonly syncReading: SyncReading;
}

const route = routeFor<SyncServices>();

const write = route({
  method: 'post',
  path: '/v1/sync',
  operation: 'writeObject',
  tag,
  summary: 'Changes or deletes an object, merging what other devices changed',
  access: mayWrite,
  body: WriteObject,
  maxBodyBytes: largestBodyBytes,
  uniqueNames: true,
  status: 200,
  response: Applied,
  maxAnswerBytes: objectBytes,
  errors: ['not_found', 'sync_conflict', ...ofWrite],
  errorMembers: { sync_conflict: Conflict },
  contributions: [takesRequestId],
  audit: {
    actions: ['sync.changed', 'sync.deleted', 'sync.conflicted'],
    note: '`sync.conflicted` where the response is 409 `sync_conflict`',
  },
  handler: async ({ synchronization }, { request, body, http }) => {
    const answer = await synchronization.write(request, parseDevice(http), body);
    if (answer.status === 'APPLIED') return toJsonText(answer);
    throw toError(answer);
  },
});

const create = route({
  method: 'post',
  path: '/v1/sync/create',
  operation: 'createObject',
  tag,
  summary: 'Makes an object under an id that the client chooses',
  access: mayWrite,
  body: CreateObject,
  maxBodyBytes: largestBodyBytes,
  uniqueNames: true,
  status: 201,
  response: ObjectView,
  maxAnswerBytes: objectBytes,
  errors: ['object_exists', ...ofWrite],
  contributions: [takesRequestId],
  audit: { actions: ['sync.created'] },
  handler: async ({ synchronization }, { request, body, http }) =>
    toJsonText(await synchronization.create(request, parseDevice(http), body)),
});

const reads = [
  route({
    method: 'get',
    path: '/v1/sync',
    operation: 'listObjects',
    tag,
    summary: 'Lists the caller’s objects in the order of their last changes, or what changed',
    access: mayRead,
    query: ChangePage,
    status: 200,
    response: ChangeList,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ syncReading }, { request, query, http }) =>
      syncReading.list(request, deviceIdOf(http), query),
  }),
  route({
    method: 'get',
    path: '/v1/sync/:objectId',
    operation: 'getObject',
    tag,
    summary: 'Returns the current state of an object',
    access: mayRead,
    params: ObjectId,
    status: 200,
    response: ObjectView,
    maxAnswerBytes: objectBytes,
    errors: ['not_found'],
    handler: async ({ syncReading }, { request, params, http }) =>
      toJsonText(await syncReading.get(request, deviceIdOf(http), params.objectId)),
  }),
  route({
    method: 'get',
    path: '/v1/sync/:objectId/history',
    operation: 'listObjectHistory',
    tag,
    summary: 'Lists the outcome of every write of an object, with conflicts, oldest first',
    access: mayRead,
    params: ObjectId,
    query: HistoryPage,
    status: 200,
    response: HistoryList,
    maxAnswerBytes: listBytes,
    errors: ['not_found'],
    handler: async ({ syncReading }, { request, params: { objectId }, query, http, reply }) => {
      const page = await syncReading.history(request, deviceIdOf(http), objectId, query);
      linkNextPage(reply, query, page.cursor);
      return { objectId, history: page.history };
    },
  }),
  route({
    method: 'get',
    path: '/v1/sync/:objectId/export',
    operation: 'exportObject',
    tag,
    summary: 'Returns an object and its versions as RFC 8785 canonical JSON',
    access: mayRead,
    params: ObjectId,
    status: 200,
    response: StreamedJson,
    streams: ExportedObject,
    maxAnswerBytes: objectBytes,
    errors: ['not_found'],
    handler: ({ syncReading }, { request, params, http }) =>
      syncReading.export(request, deviceIdOf(http), params.objectId),
  }),
];

export const syncRoutes = [requireSchemaVersion(write), requireSchemaVersion(create), ...reads].map(
  (each) => requireDeviceId(each),
);

function deviceIdOf({ headers }: RequestInfo): string {
  return parseDeviceId(headers['x-device-id']);
}

function parseDevice(http: RequestInfo): WritingDevice {
  const syncRequestId = parseRequestId(http.headers['x-sync-request-id']);
  return { deviceId: deviceIdOf(http), syncRequestId };
}

function parseRequestId(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const parsed = Uuid.safeParse(header);
  if (parsed.success) return parsed.data;
  const details = [{ path: 'X-Sync-Request-Id', message: 'must be a UUID' }];
  throw new AppError('validation_failed', { details });
}
