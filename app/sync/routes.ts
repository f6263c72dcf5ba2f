import { parseDeviceId, requireDeviceId, type DeviceCaller } from '../devices/guard.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { linkNextPage } from '../http/answers/next-page.ts';
import type { RequestInfo } from '../http/requests/request.ts';
import { route, type Route } from '../http/routing/route.ts';
import { Uuid } from '../http/bodies/wire.ts';
import type { Author } from './objects/history.ts';
import type { SyncReading } from './reading/reading.ts';
import { requireSchemaVersion } from './schema-guard.ts';
import type { SchemaVersions } from './schema-versions.ts';
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
import type { Synchronization } from './synchronization.ts';

const tag = 'Synchronization';
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
  'audit_backlog_full',
] as const;

interface SyncRoutesOptions {
  readonly synchronization: Synchronization;
  readonly syncReading: SyncReading;
  readonly schemaVersions: SchemaVersions;
}

interface Input {
  readonly caller: Caller;
  readonly request: RequestInfo;
}

export function createSyncRoutes(options: SyncRoutesOptions): Route[] {
  const { synchronization, syncReading, schemaVersions } = options;

  const write = route({
    method: 'post',
    path: '/v1/sync',
    tag,
    summary: 'Changes or deletes an object, merging what other devices changed',
    access: mayWrite,
    body: WriteObject,
    uniqueNames: true,
    status: 200,
    response: Applied,
    errors: ['not_found', 'sync_conflict', ...ofWrite],
    handler: async (input) => {
      const answer = await synchronization.write(toAuthor(input), input.body);
      if (answer.status === 'APPLIED') return answer;
      throw new AppError('sync_conflict', { members: answer });
    },
  });

  const create = route({
    method: 'post',
    path: '/v1/sync/create',
    tag,
    summary: 'Makes an object under an id of the client’s',
    access: mayWrite,
    body: CreateObject,
    uniqueNames: true,
    status: 201,
    response: ObjectView,
    errors: ['object_exists', ...ofWrite],
    handler: async (input) => synchronization.create(toAuthor(input), input.body),
  });

  const routes = [
    requireSchemaVersion(write, schemaVersions),
    requireSchemaVersion(create, schemaVersions),
    route({
      method: 'get',
      path: '/v1/sync',
      tag,
      summary: 'The objects of the caller in the order of their last changes, or what changed',
      access: mayRead,
      query: ChangePage,
      status: 200,
      response: ChangeList,
      errors: ofDevice,
      handler: async (input) => syncReading.list(toReader(input), input.query),
    }),
    route({
      method: 'get',
      path: '/v1/sync/:objectId',
      tag,
      summary: 'An object as it is now',
      access: mayRead,
      params: ObjectId,
      status: 200,
      response: ObjectView,
      errors: ['not_found', ...ofDevice],
      handler: async (input) => syncReading.get(toReader(input), input.params.objectId),
    }),
    route({
      method: 'get',
      path: '/v1/sync/:objectId/history',
      tag,
      summary: 'What became of every write of an object, conflicts too, oldest first',
      access: mayRead,
      params: ObjectId,
      query: HistoryPage,
      status: 200,
      response: HistoryList,
      errors: ['not_found', ...ofDevice],
      handler: async (input) => {
        const { params, query, reply } = input;
        const { objectId } = params;
        const { history, cursor } = await syncReading.history(toReader(input), objectId, query);
        linkNextPage(reply, `/v1/sync/${objectId}/history`, query, cursor);
        return { objectId, history };
      },
    }),
    route({
      method: 'get',
      path: '/v1/sync/:objectId/export',
      tag,
      summary: 'An object and its versions as RFC 8785 canonical JSON',
      access: mayRead,
      params: ObjectId,
      status: 200,
      response: Export,
      errors: ['not_found', ...ofDevice],
      handler: async (input) => {
        const text = await syncReading.export(toReader(input), input.params.objectId);
        input.reply.set('Content-Type', 'application/json; charset=utf-8');
        return text;
      },
    }),
  ];
  return routes.map(requireDeviceId);
}

function toReader({ caller, request }: Input): DeviceCaller {
  return { caller, deviceId: parseDeviceId(request.headers['x-device-id']) };
}

function toAuthor(input: Input): Author {
  const { serverId, headers } = input.request;
  return {
    ...toReader(input),
    serverId,
    syncRequestId: parseRequestId(headers['x-sync-request-id']),
  };
}

function parseRequestId(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const parsed = Uuid.safeParse(header);
  if (parsed.success) return parsed.data;
  const details = [{ path: 'X-Sync-Request-Id', message: 'must be a UUID' }];
  throw new AppError('validation_failed', { details });
}
