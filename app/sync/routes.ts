import { parseDeviceId, requireDeviceId } from '../devices/guard.ts';
import { AppError } from '../errors/app-error.ts';
import { linkNextPage } from '../http/responses/next-page.ts';
import { Uuid } from '../http/bodies/wire.ts';
import type { RequestInfo } from '../http/requests/request.ts';
import { largestBodyBytes } from '../http/bodies/json-body.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import { maxDataBytes } from './merge/limits.ts';
import { toError, toJsonText } from './objects/answers.ts';
import type { WritingDevice } from './objects/history.ts';
import {
  Applied,
  ChangeList,
  ChangePage,
  CreateObject,
  Export,
  HistoryList,
  HistoryPage,
  ObjectId,
  ObjectView,
  WriteObject,
} from './objects/schema.ts';
import type { SyncReading } from './reading/reading.ts';
import { requireSchemaVersion } from './schema-versions.ts';
import type { Synchronization } from './synchronization.ts';

const tag = 'Synchronization';
/** Bytes of an object with the names, ids and times around it. */
const objectBytes = maxDataBytes + 2 ** 12;
const mayRead = { scopes: ['sync:read'] } as const;
const mayWrite = { scopes: ['sync:write'] } as const;
const ofDevice = ['device_required', 'device_unknown', 'device_blacklisted'] as const;
const ofWrite = [
  ...ofDevice,
  'schema_version_unsupported',
  'data_too_deep',
  'data_too_large',
  'too_many_fields',
  'paths_too_long',
  'number_out_of_range',
  'sync_request_reused',
  'quota_exceeded',
  'audit_backlog_full',
] as const;

interface SyncServices {
  readonly synchronization: Synchronization;
  readonly syncReading: SyncReading;
}

const route = routeFor<SyncServices>();

const write = route({
  method: 'post',
  path: '/v1/sync',
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
  audit: { actions: ['sync.created'] },
  handler: async ({ synchronization }, { request, body, http }) =>
    toJsonText(await synchronization.create(request, parseDevice(http), body)),
});

const reads = [
  route({
    method: 'get',
    path: '/v1/sync',
    tag,
    summary: 'Lists the caller’s objects in the order of their last changes, or what changed',
    access: mayRead,
    query: ChangePage,
    status: 200,
    response: ChangeList,
    maxAnswerBytes: listBytes,
    errors: ofDevice,
    handler: async ({ syncReading }, { request, query, http }) =>
      syncReading.list(request, deviceIdOf(http), query),
  }),
  route({
    method: 'get',
    path: '/v1/sync/:objectId',
    tag,
    summary: 'Returns the current state of an object',
    access: mayRead,
    params: ObjectId,
    status: 200,
    response: ObjectView,
    maxAnswerBytes: objectBytes,
    errors: ['not_found', ...ofDevice],
    handler: async ({ syncReading }, { request, params, http }) =>
      toJsonText(await syncReading.get(request, deviceIdOf(http), params.objectId)),
  }),
  route({
    method: 'get',
    path: '/v1/sync/:objectId/history',
    tag,
    summary: 'Lists the outcome of every write of an object, with conflicts, oldest first',
    access: mayRead,
    params: ObjectId,
    query: HistoryPage,
    status: 200,
    response: HistoryList,
    maxAnswerBytes: listBytes,
    errors: ['not_found', ...ofDevice],
    handler: async ({ syncReading }, { request, params: { objectId }, query, http, reply }) => {
      const page = await syncReading.history(request, deviceIdOf(http), objectId, query);
      linkNextPage(reply, `/v1/sync/${objectId}/history`, query, page.cursor);
      return { objectId, history: page.history };
    },
  }),
  route({
    method: 'get',
    path: '/v1/sync/:objectId/export',
    tag,
    summary: 'Returns an object and its versions as RFC 8785 canonical JSON',
    access: mayRead,
    params: ObjectId,
    status: 200,
    response: Export,
    maxAnswerBytes: objectBytes,
    errors: ['not_found', ...ofDevice],
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
