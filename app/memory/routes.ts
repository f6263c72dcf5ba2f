import { parseDeviceId } from '../devices/guard.ts';
import { metadataBodyBytes } from '../http/bodies/json-body.ts';
import { uuidText } from '../http/bodies/wire.ts';
import { linkNextPage } from '../http/responses/next-page.ts';
import { listBytes } from '../http/responses/page.ts';
import type { Contribution } from '../http/routing/contribution.ts';
import { routeFor } from '../http/routing/route.ts';
import type { FreshProofs } from '../sessions/fresh-proof.ts';
import type { MemoryRecords } from './memory-records.ts';
import {
  AddedMemoryRecord,
  AddMemoryRecord,
  MemoryPage,
  MemoryRecordList,
  MemoryWriter,
} from './schema.ts';

const tag = 'Keys and devices';
const access = { scopes: ['keys:manage'] } as const;
const path = '/v1/memory/records';

const takesDeviceId: Contribution = {
  requestHeaders: {
    'X-Device-Id': uuidText
      .optional()
      .describe('Needed if `writer` is a device: its id. The session must be bound to it.'),
  },
  errors: ['device_unknown', 'device_blacklisted', 'validation_failed'],
};

interface MemoryServices {
  readonly memoryRecords: MemoryRecords;
  readonly freshProofs: FreshProofs;
}

const route = routeFor<MemoryServices>();

export const memoryRoutes = [
  route({
    method: 'get',
    path,
    operation: 'listMemoryRecords',
    tag,
    summary: 'Lists what the caller’s clients told each other of the vault’s state, oldest first',
    access,
    query: MemoryPage,
    status: 200,
    response: MemoryRecordList,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ memoryRecords }, { request, query, reply }) => {
      const { records, cursor } = await memoryRecords.list(request, query);
      linkNextPage(reply, query, cursor);
      return records;
    },
  }),
  route({
    method: 'post',
    path,
    operation: 'addMemoryRecord',
    tag,
    summary: 'Stores what a client tells the caller’s other clients, encrypted',
    access,
    body: AddMemoryRecord,
    maxBodyBytes: metadataBodyBytes,
    status: 201,
    response: AddedMemoryRecord,
    errors: ['device_required', 'memory_conflict', 'quota_exceeded', 'audit_backlog_full'],
    contributions: [takesDeviceId],
    audit: { actions: ['memory.recorded'] },
    handler: ({ memoryRecords }, { request, body, http }) => {
      const header = http.headers['x-device-id'];
      const deviceId = header === undefined ? undefined : parseDeviceId(header);
      return memoryRecords.add(request, deviceId, body);
    },
  }),
  route({
    method: 'delete',
    path: `${path}/:writer`,
    operation: 'removeMemoryRecords',
    tag,
    summary: 'Removes all records of one writer',
    access: { ...access, freshProof: 'always' },
    params: MemoryWriter,
    status: 204,
    response: undefined,
    errors: ['not_found', 'audit_backlog_full'],
    audit: { actions: ['memory.removed'] },
    handler: async ({ memoryRecords, freshProofs }, { request, http, params }) => {
      const proof = await freshProofs.read(request.caller, http.headers);
      return memoryRecords.remove(request, params.writer, proof);
    },
  }),
];
