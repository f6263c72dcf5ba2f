import { linkNextPage } from '../http/answers/next-page.ts';
import { parseIfMatch, withETag } from '../http/answers/precondition.ts';
import { route, type Route } from '../http/routing/route.ts';
import type { DeviceEnvelopes } from './envelopes.ts';
import {
  DeviceChange,
  DeviceEnvelope,
  DeviceEnvelopeView,
  DeviceId,
  DeviceKeyForm,
  DeviceList,
  DevicePage,
  DeviceRevocation,
  DeviceView,
} from './schema.ts';
import type { Devices } from './devices.ts';

const tag = 'Key envelopes';
const access = { scopes: ['keys:manage'], orDeveloper: true } as const;

interface DeviceRoutesOptions {
  readonly deviceEnvelopes: DeviceEnvelopes;
  readonly devices: Devices;
}

export function createDeviceRoutes({ deviceEnvelopes, devices }: DeviceRoutesOptions): Route[] {
  return [
    route({
      method: 'post',
      path: '/v1/crypto/keys/device-envelope',
      tag,
      summary: 'Registers a device with the master key wrapped for it, and binds the session to it',
      access,
      body: DeviceKeyForm,
      status: 201,
      response: DeviceEnvelope,
      hasETag: true,
      noStore: true,
      errors: [
        'invalid_key_length',
        'raw_keys_refused',
        'device_blacklisted',
        'envelope_exists',
        'quota_exceeded',
        'audit_backlog_full',
      ],
      handler: ({ caller, body, request, reply }) =>
        withETag(reply, deviceEnvelopes.create(caller, body, request.serverId)),
    }),
    route({
      method: 'get',
      path: '/v1/crypto/keys/device-envelope/:deviceId',
      tag,
      summary: 'The master key wrapped for a device',
      access,
      params: DeviceId,
      status: 200,
      response: DeviceEnvelopeView,
      hasETag: true,
      noStore: true,
      errors: ['device_blacklisted', 'not_found'],
      handler: ({ caller, params, reply }) =>
        withETag(reply, deviceEnvelopes.get(caller, params.deviceId)),
    }),
    route({
      method: 'get',
      path: '/v1/crypto/keys/devices',
      tag,
      summary: 'The devices of the caller that were not revoked',
      access,
      query: DevicePage,
      status: 200,
      response: DeviceList,
      noStore: true,
      errors: [],
      handler: async ({ caller, query, reply }) => {
        const page = await devices.list(caller, query);
        linkNextPage(reply, '/v1/crypto/keys/devices', query, page.cursor);
        return page.devices;
      },
    }),
    route({
      method: 'put',
      path: '/v1/crypto/keys/devices/:deviceId',
      tag,
      summary:
        'Another name of a device whose version is sent as If-Match, encrypted by the client',
      access,
      params: DeviceId,
      body: DeviceChange,
      status: 200,
      response: DeviceView,
      hasETag: true,
      noStore: true,
      errors: [
        'invalid_request',
        'device_blacklisted',
        'not_found',
        'precondition_required',
        'precondition_failed',
        'audit_backlog_full',
      ],
      handler: ({ caller, params, body, request, reply }) => {
        const ifMatch = parseIfMatch(request.headers['if-match']);
        const change = { ...body, ifMatch, requestId: request.serverId };
        return withETag(reply, devices.change(caller, params.deviceId, change));
      },
    }),
    route({
      method: 'delete',
      path: '/v1/crypto/keys/devices/:deviceId',
      tag,
      summary: 'Revokes a device for good: its envelope goes and its sessions end',
      access,
      params: DeviceId,
      body: DeviceRevocation,
      isBodyOptional: true,
      status: 204,
      response: undefined,
      errors: ['not_found'],
      handler: ({ caller, params, body, request }) =>
        devices.revoke(caller, params.deviceId, body.reason, request.serverId),
    }),
  ];
}
